"""Measured seconds beside the exact MACs and bytes that they bought."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diffprof.breakdown.throughput import ThroughputRow, generation, throughput_table
from diffprof.record.measured import Device, Iteration, Sample, Span
from diffprof.record.profile import Profile
from tests.sample_iterations import CPU, iteration, iteration_on
from tests.sample_profiles import TEXT_ENCODER_MACS, UNET_MACS, VAE_MACS, measured_profile, nothing

MS = 1_000_000


def rows_of(profile: Profile) -> dict[str, ThroughputRow]:
    return {row.component: row for row in throughput_table(profile)}


def profile(**changes: Any) -> Profile:
    """Two steps of a second, VAE of two seconds, two encoders of 50 ms: once so, twice half as fast."""
    runs = [iteration(unet_ms=[1_000, 1_000], vae_ms=2_000, times=times) for times in (1, 2, 2)]
    return measured_profile(iterations=runs, steps=2, **changes)


def test_components_come_with_most_time_first() -> None:
    assert list(rows_of(profile())) == ["unet", "vae", "text_encoder"]


def test_a_components_calls_in_one_iteration_are_added_and_their_median_taken() -> None:
    rows = rows_of(profile())
    assert (rows["unet"].calls, rows["unet"].median_ns) == (2, 4_000 * MS)
    assert (rows["text_encoder"].calls, rows["text_encoder"].median_ns) == (2, 200 * MS)


def test_the_rate_is_two_flops_for_each_mac_in_the_measured_time() -> None:
    rows = rows_of(profile())
    assert (rows["unet"].macs, rows["text_encoder"].macs) == (2 * UNET_MACS, 2 * TEXT_ENCODER_MACS)
    assert rows["unet"].flops_per_second == pytest.approx(2 * 2 * UNET_MACS / 4)
    assert rows["vae"].flops_per_second == pytest.approx(2 * VAE_MACS / 4)


def test_the_share_of_the_peak_is_that_of_the_components_dtype() -> None:
    row = rows_of(profile())["vae"]
    assert row.dtype == "float16"
    assert row.peak_share == pytest.approx(2 * VAE_MACS / 4 / 1.2e12)


def test_without_a_known_peak_there_is_no_share_of_it() -> None:
    unknown = Device("some device", "xpu", peak_flops_per_second={"int8": 1e12})
    assert {row.peak_share for row in throughput_table(profile(device=unknown))} == {None}


def test_bytes_and_operations_are_those_that_were_counted() -> None:
    row = rows_of(profile())["unet"]
    # One call: 5,790 MB read and 1,630 MB written by 66 + 150 + 6 + 61 operations.
    assert row.moved_bytes == 2 * (5_790_000_000 + 1_630_000_000)
    assert row.flops_per_byte == pytest.approx(2 * UNET_MACS / 7_420_000_000)
    assert row.ops_per_call == 283
    assert row.ns_per_op == pytest.approx(4_000 * MS / 566)


def test_what_was_not_counted_is_not_known() -> None:
    one = Iteration(0, Span(0, 100), (Sample("unet_forward", Span(0, 60), component="unet"),))
    (row,) = throughput_table(measured_profile(iterations=[one]))
    assert (row.calls, row.median_ns, row.share) == (1, 60, 0.6)
    assert {row.macs, row.flops_per_second, row.peak_share, row.moved_bytes, row.ops_per_call} == {None}


def test_a_component_that_only_one_call_used_has_the_time_of_that_call() -> None:
    with_prompt = iteration_on(CPU)
    without = replace(with_prompt, samples=tuple(replace(one, parent=None) for one in with_prompt.samples[3:]))
    rows = rows_of(measured_profile(iterations=[with_prompt, without, without]))
    assert rows["text_encoder"].median_ns == 100 * MS
    assert rows["text_encoder"].macs == 2 * TEXT_ENCODER_MACS
    assert rows["text_encoder"].share == pytest.approx(100 / (3 * with_prompt.wall.host_ns / MS))


def test_a_component_that_is_not_in_the_count_is_shown_all_the_same() -> None:
    one = Iteration(0, Span(0, 100), (Sample("x_forward", Span(0, 60), component="x"),))
    (row,) = throughput_table(measured_profile(iterations=[one]))
    assert (row.component, row.class_name, row.dtype) == ("x", "", "")


def test_a_generation_has_its_wall_time_and_all_macs() -> None:
    whole = generation(profile())
    assert whole is not None
    # 1 ms lies before, in (3 times) and after prompt encoding, after both parts of two steps, VAE and post-processing.
    wall = 100 + 2 * 1_001 + 2_000 + 20 + 11
    assert (whole.iterations, whole.median_ns, whole.min_ns) == (3, 2 * wall * MS, wall * MS)
    assert whole.macs == 2 * TEXT_ENCODER_MACS + 2 * UNET_MACS + VAE_MACS
    assert whole.flops_per_second == pytest.approx(2 * whole.macs / (2 * wall / 1_000))
    assert (whole.outputs, whole.outputs_are) == (1, "image")
    assert whole.outputs_per_second == pytest.approx(1_000 / (2 * wall))


def test_steps_per_second_are_those_of_the_loop() -> None:
    whole = generation(profile())
    assert whole is not None
    assert whole.steps == 2
    assert whole.steps_per_second == pytest.approx(2 / (2 * 2.005))


@pytest.mark.parametrize(
    ("arguments", "outputs", "noun"),
    [
        ({"prompt": ["a", "b"], "num_images_per_prompt": 3}, 6, "image"),
        ({"prompt": "a", "num_videos_per_prompt": 1, "num_frames": 16}, 1, "video"),
        ({"batch_size": 4}, 4, "image"),
        ({"prompt": "a"}, None, "image"),
        ({"num_images_per_prompt": 3}, None, "image"),
    ],
)
def test_images_are_prompts_times_images_per_prompt(arguments: dict[str, Any], outputs: int | None, noun: str) -> None:
    made = profile()
    made = replace(made, request=replace(made.request, arguments=arguments, defaults={}))
    whole = generation(made)
    assert whole is not None
    assert (whole.outputs, whole.outputs_are) == (outputs, noun)


def test_component_calls_outside_the_pipeline_generate_no_image() -> None:
    whole = generation(measured_profile(iterations=[Iteration(0, Span(0, 9), entry="encode_prompt")]))
    assert whole is not None
    assert (whole.outputs, whole.outputs_per_second, whole.steps, whole.steps_per_second) == (None, None, 0, None)


def test_where_nothing_was_measured_there_is_nothing() -> None:
    assert generation(nothing()) is None
    assert throughput_table(nothing()) == []
    assert generation(measured_profile(iterations=[])) is None
