"""Peaks belong to the component and the stage in which they were reached."""

from __future__ import annotations

from typing import Any

from diffprof.breakdown.memory_peaks import AFTER, BEFORE, DENOISING, WHOLE, MemoryRow, memory_moments, memory_table
from diffprof.record.measured import Iteration, MemoryPoint, Sample, Span, StepSpan, SystemPoint
from diffprof.record.profile import Profile
from tests.sample_profiles import measured_profile, nothing

SAMPLES = (
    Sample("text_encoder_forward", Span(10, 10), component="text_encoder"),
    Sample("unet_forward", Span(30, 10), component="unet", step=0),
    Sample("unet_forward", Span(50, 10), component="unet", step=1),
    Sample("vae_decode", Span(70, 20), component="vae"),
)
STEPS = (StepSpan("scheduler", 0, Span(30, 10)), StepSpan("scheduler", 1, Span(50, 10)))


def points(*rows: tuple[str, int, int, int, int | None]) -> tuple[MemoryPoint, ...]:
    """Label, moment, what is in use, the peak (since the point before on a device), and the sample."""
    return tuple(MemoryPoint(label, at, 7, 7, used, used, peak, sample) for label, at, used, peak, sample in rows)


ON_DEVICE = points(
    ("start", 0, 100, 900, None),
    ("text_encoder_forward begins", 10, 100, 110, 0),
    ("text_encoder_forward ends", 20, 120, 150, 0),
    ("unet_forward begins", 30, 125, 160, 1),
    ("unet_forward ends", 40, 130, 300, 1),
    ("unet_forward begins", 50, 130, 130, 2),
    ("unet_forward ends", 60, 130, 310, 2),
    ("vae_decode begins", 70, 130, 140, 3),
    ("vae_decode ends", 90, 110, 500, 3),
    ("end", 100, 105, 120, None),
)


def profile_with_memory(
    memory: tuple[MemoryPoint, ...], system: tuple[SystemPoint, ...] = (), **fields: Any
) -> Profile:
    return measured_profile(iterations=[Iteration(0, Span(0, 100), SAMPLES, STEPS, memory, **fields)], system=system)


def by_part(profile: Profile) -> dict[str, MemoryRow]:
    return {row.part: row for row in memory_table(profile)}


def test_the_device_peak_of_a_component_lies_between_its_start_and_end() -> None:
    rows = by_part(profile_with_memory(ON_DEVICE))
    assert {name: row.device_peak_bytes for name, row in rows.items() if not row.is_stage} == {
        "text_encoder": 150,
        "unet": 310,
        "vae": 500,
    }


def test_stages_are_before_in_and_after_the_loop() -> None:
    rows = by_part(profile_with_memory(ON_DEVICE))
    # What was reached on the way to the first step belongs to what came before it; the start knows of no peak before.
    assert [rows[stage].device_peak_bytes for stage in (BEFORE, DENOISING, AFTER)] == [160, 310, 500]
    assert list(rows) == ["text_encoder", "unet", "vae", BEFORE, DENOISING, AFTER]


def test_without_steps_there_is_one_stage() -> None:
    one = Iteration(0, Span(0, 100), (), (), points(("start", 0, 5, 5, None), ("end", 9, 6, 8, None)))
    rows = by_part(measured_profile(iterations=[one]))
    assert {name: row.device_peak_bytes for name, row in rows.items()} == {WHOLE: 8}


def in_process(*rows: tuple[str, int, int, int, int | None]) -> tuple[MemoryPoint, ...]:
    return tuple(MemoryPoint(label, at, rss, peak, sample=sample) for label, at, rss, peak, sample in rows)


IN_PROCESS = in_process(
    ("start", 0, 50, 400, None),
    ("text_encoder_forward begins", 10, 50, 400, 0),
    ("text_encoder_forward ends", 20, 60, 400, 0),
    ("unet_forward begins", 30, 60, 400, 1),
    ("unet_forward ends", 40, 65, 450, 1),
    ("vae_decode begins", 70, 70, 450, 3),
    ("vae_decode ends", 90, 80, 450, 3),
    ("end", 100, 55, 450, None),
)


def test_the_peak_of_the_process_counts_where_it_rose() -> None:
    rows = by_part(profile_with_memory(IN_PROCESS))
    assert {name: row.rss_peak_bytes for name, row in rows.items()} == {
        "text_encoder": 60,
        "unet": 450,
        "vae": 80,
        BEFORE: 60,
        DENOISING: 450,
        AFTER: 80,
    }
    assert {row.device_peak_bytes for row in rows.values()} == {None}


def test_what_the_background_sampler_saw_counts_where_it_was_seen() -> None:
    seen = tuple(SystemPoint(at, 100.0, rss) for at, rss in ((15, 300), (80, 90), (95, 85), (101, 999)))
    rows = by_part(profile_with_memory(IN_PROCESS, seen))
    assert (rows["text_encoder"].rss_peak_bytes, rows["vae"].rss_peak_bytes) == (300, 90)
    assert (rows[BEFORE].rss_peak_bytes, rows[AFTER].rss_peak_bytes) == (300, 90)


def test_warm_ups_count_and_traced_calls_do_not() -> None:
    def run(used: int, **marks: bool) -> Iteration:
        memory = points(("start", 0, used, used, None), ("end", 9, used, used, None))
        return Iteration(0, Span(0, 100), (), (), memory, **marks)  # type: ignore[arg-type]

    profile = measured_profile(iterations=[run(30, warmup=True), run(20), run(90, traced=True)])
    assert by_part(profile)[WHOLE].device_peak_bytes == 30
    assert [moment.iteration for moment in memory_moments(profile)] == [0, 0, 1, 1]


def test_moments_are_start_after_each_kind_of_work_and_end() -> None:
    moments = memory_moments(profile_with_memory(ON_DEVICE))
    assert [(one.label, one.allocated_bytes, one.max_allocated_bytes) for one in moments] == [
        ("start", 100, 900),
        ("after_text_encoding", 120, 150),
        ("after_denoising", 130, 310),
        ("after_vae_decode", 110, 500),
        ("end", 105, 120),
    ]
    assert {(one.rss_bytes, one.peak_rss_bytes) for one in moments} == {(7, 7)}


def test_the_highest_of_all_peaks_is_in_some_moment() -> None:
    assert max(one.max_allocated_bytes or 0 for one in memory_moments(profile_with_memory(ON_DEVICE))[1:]) == 500


def test_without_a_device_there_is_no_device_memory() -> None:
    moments = memory_moments(profile_with_memory(IN_PROCESS))
    assert {one.allocated_bytes for one in moments} | {one.max_allocated_bytes for one in moments} == {None}
    assert [one.rss_bytes for one in moments] == [50, 60, 65, 80, 55]


def test_where_nothing_was_measured_there_is_nothing() -> None:
    assert memory_table(nothing()) == []
    assert memory_moments(nothing()) == []
