"""The tables of a measured run, with times worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from diffprof.breakdown.memory_peaks import MemoryMoment, memory_moments, memory_table
from diffprof.record.measured import FROM_DISK, HOST_TO_DEVICE, CacheEvent, Iteration, Move
from diffprof.record.profile import Profile
from diffprof.render.columns import Column
from diffprof.render.run_tables import (
    cache_columns,
    component_columns,
    memory_columns,
    moment_label,
    move_columns,
    notable_moments,
    part_columns,
    peak_columns,
    section_columns,
    step_columns,
)
from tests.sample_iterations import CPU, GPU, MILLISECOND, iteration_on
from tests.sample_profiles import measured_profile, stable_diffusion


def cells(columns: Sequence[Column]) -> dict[str, list[str]]:
    return {column.name: list(column.cells) for column in columns}


def run_on_gpu(iteration: Iteration | None = None) -> Profile:
    """One iteration of 59.7 ms: 1.3 of text, four steps of 10.05, 16 of VAE, 1 of post-processing, 1.2 between."""
    return measured_profile(device=GPU, iterations=[iteration or iteration_on(GPU)])


def test_self_times_of_the_sections_add_up_to_the_wall_time() -> None:
    table = cells(section_columns(run_on_gpu(), ascii_only=True))
    assert dict(zip(table["section"], table["self"], strict=True)) == {
        "unet_forward": "40.0 ms",
        "vae_decode": "16.0 ms",
        "encode_prompt": "300 us",
        "postprocess": "1.00 ms",
        "text_encoder_forward": "1.00 ms",
        "scheduler_step": "200 us",
        "between sections": "1.20 ms",
        "wall": "59.7 ms",
    }
    assert dict(zip(table["section"], table["total"], strict=True))["encode_prompt"] == "1.30 ms"
    assert table["share"][0] == " 67.0 % ######"


def test_components_end_with_the_generation() -> None:
    table = cells(component_columns(run_on_gpu(), ascii_only=True))
    assert table["component"] == ["unet", "vae", "text_encoder", "everything else", "generation"]
    assert table["time"] == ["40.0 ms", "16.0 ms", "1.00 ms", "2.70 ms", "59.7 ms"]
    # 2 x 804,257,464,320 FLOPs in 10 ms; 312 TFLOP/s is the peak.
    assert (table["FLOP/s"][0], table["of peak"][0]) == ("160.85 T", "51.6 %")


def test_parts_have_a_row_for_everything_else() -> None:
    table = cells(part_columns(run_on_gpu(), ascii_only=True))
    assert dict(zip(table["part"], table["time"], strict=True))["everything else"] == "2.70 ms"


def test_steps_are_relative_to_the_slowest() -> None:
    slow_first = iteration_on(GPU, unet_ms=[29.85, 9.85, 9.85, 9.85])
    table = cells(step_columns(run_on_gpu(slow_first), ascii_only=True))
    assert table["median"] == ["30.0 ms", "10.0 ms", "10.0 ms", "10.0 ms"]
    assert table["time before"] == ["-", "100 us", "100 us", "100 us"]
    assert [len(bar) for bar in table["relative"]] == [9, 3, 3, 3]
    assert "relative" not in cells(step_columns(run_on_gpu(), ascii_only=True, with_bars=False))


def test_moves_have_the_bytes_in_each_direction_and_a_column_for_the_disk_if_it_was_read() -> None:
    moves = (
        Move("unet", HOST_TO_DEVICE, 2_000_000_000, 0, MILLISECOND, step=0, hidden=True),
        Move("unet", HOST_TO_DEVICE, 2_000_000_000, 0, 2 * MILLISECOND, step=1, hidden=False),
    )
    table = cells(move_columns(run_on_gpu(iteration_on(GPU, moves=moves)), ascii_only=True))
    assert {name: values[0] for name, values in table.items()} == {
        "component": "unet", "times in": "2", "times out": "0", "host to device": "4.00 GB", "device to host": "0 B",
        "host busy": "3.00 ms", "hidden": "1.00 ms", "exposed": "2.00 ms", "unknown": "0 s", "in steps": "0-1",
    }  # fmt: skip
    from_disk = (Move("vae", FROM_DISK, 160_000_000, 0, MILLISECOND),)
    table = cells(move_columns(run_on_gpu(iteration_on(GPU, moves=from_disk)), ascii_only=True))
    assert table["from disk"] == ["160.00 MB"]


def test_caches_have_their_hits_and_misses() -> None:
    events = tuple(CacheEvent("blocks", step > 0, 5, step, "unet") for step in range(4))
    table = cells(cache_columns(run_on_gpu(iteration_on(GPU, caches=events)), ascii_only=True))
    assert (table["hits"], table["misses"], table["rate"]) == (["3"], ["1"], ["75.0 %"])


def test_memory_of_the_device_is_left_out_where_it_is_unknown() -> None:
    on_cpu = measured_profile(iterations=[iteration_on(CPU)])
    assert list(cells(memory_columns(memory_moments(on_cpu)))) == ["moment", "RSS", "peak RSS"]
    assert "allocated" in cells(memory_columns(memory_moments(run_on_gpu())))
    assert "peak on device" not in cells(peak_columns(memory_table(on_cpu)))
    assert cells(peak_columns(memory_table(run_on_gpu())))["peak on device"] == ["9.00 GB"] * 6


def test_a_moment_names_its_iteration_if_there_are_several() -> None:
    moments = memory_moments(measured_profile(device=GPU, iterations=[iteration_on(GPU, warmup=True)] * 2))
    start: MemoryMoment = replace(moments[0], label="start", iteration=1, warmup=True)
    assert moment_label(start, several=False) == "start"
    assert moment_label(start, several=True) == "2 (warm-up): start"
    assert moment_label(replace(start, warmup=False), several=True) == "2: start"


@pytest.mark.parametrize("columns", [section_columns, component_columns, step_columns, cache_columns, move_columns])
def test_a_counted_profile_has_empty_tables(columns: object) -> None:
    assert all(not column.cells for column in columns(stable_diffusion(), True))  # type: ignore[operator]


def moment(iteration: int, rss_bytes: int, label: str = "start") -> MemoryMoment:
    return MemoryMoment(iteration, iteration == 0, label, None, None, None, rss_bytes, rss_bytes)


def test_iterations_that_need_the_same_memory_are_shown_once() -> None:
    sizes = [900, 1000, 1001, 1005, 1500, 1501, 1502, 1503]
    shown = notable_moments([moment(number, size) for number, size in enumerate(sizes)])
    assert [one.iteration for one in shown] == [0, 1, 4, 7], "the first two, the one that grew, the last"


def test_an_iteration_with_other_moments_is_shown() -> None:
    labels = ["start", "start", "start", "after_denoising", "start"]
    shown = notable_moments([moment(number, 1000, label) for number, label in enumerate(labels)])
    assert [one.iteration for one in shown] == [0, 1, 3, 4]
