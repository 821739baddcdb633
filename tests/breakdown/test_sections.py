"""The rows of a measured run add up to its wall time, to the nanosecond."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffprof.breakdown.clocks import DEVICE, HOST
from diffprof.breakdown.sections import BETWEEN, SectionRow, section_table
from diffprof.record.measured import Iteration, Sample, Span
from tests.sample_iterations import CPU, GPU, iteration_on
from tests.sample_profiles import measured_profile


def by_name(rows: list[SectionRow]) -> dict[str, SectionRow]:
    return {row.section: row for row in rows}


def one_call(**fields: object) -> Iteration:
    """100 ns: a prompt of 30 with encoders of 10 and 15 in it, and a decoder of 50."""
    samples = (
        Sample("encode_prompt", Span(5, 30)),
        Sample("text_encoder_forward", Span(6, 10), component="text_encoder", parent=0),
        Sample("text_encoder_forward", Span(18, 15), component="text_encoder", parent=0),
        Sample("vae_decode", Span(40, 50), component="vae"),
    )
    return Iteration(**{"began_ns": 0, "wall": Span(0, 100), "samples": samples, **fields})  # type: ignore[arg-type]


def test_a_section_has_its_time_with_and_without_what_lies_inside() -> None:
    rows = by_name(section_table([one_call()]))
    assert (rows["encode_prompt"].times.total_ns, rows["encode_prompt"].self_ns) == (30, 5)
    assert (rows["text_encoder_forward"].times.total_ns, rows["text_encoder_forward"].self_ns) == (25, 25)
    assert (rows["vae_decode"].times.total_ns, rows["vae_decode"].self_ns) == (50, 50)
    assert (rows[BETWEEN].times.total_ns, rows[BETWEEN].self_ns) == (20, 20)
    assert [rows[name].self_share for name in rows] == [0.5, 0.05, 0.25, 0.2]
    assert rows["encode_prompt"].share == 0.3


def test_the_longest_total_comes_first_and_what_lies_between_last() -> None:
    names = [row.section for row in section_table([one_call()])]
    assert names == ["vae_decode", "encode_prompt", "text_encoder_forward", BETWEEN]


def test_the_statistics_are_those_of_the_single_times() -> None:
    row = by_name(section_table([one_call(), one_call()]))["text_encoder_forward"]
    times = row.times
    assert (times.count, times.total_ns, times.mean_ns, times.median_ns) == (4, 50, 12.5, 12.5)
    assert (times.min_ns, times.max_ns, times.p95_ns) == (10, 15, 15)
    assert times.std_ns == pytest.approx((4 * 2.5**2 / 3) ** 0.5)
    assert (row.clock, row.failures) == ("host", 0)


def test_a_single_time_has_no_deviation() -> None:
    row = by_name(section_table([one_call()]))["vae_decode"]
    assert (row.times.std_ns, row.times.p95_ns) == (None, 50)


def test_what_lies_between_has_one_time_for_each_iteration() -> None:
    between = section_table([one_call(), one_call(wall=Span(0, 104))])[-1]
    assert (between.times.count, between.times.min_ns, between.times.max_ns, between.times.total_ns) == (2, 20, 24, 44)


def test_a_section_in_one_of_the_same_name_is_counted_but_not_added_again() -> None:
    samples = (Sample("vae_decode", Span(0, 60)), Sample("vae_decode", Span(10, 20), parent=0))
    rows = section_table([Iteration(0, Span(0, 80), samples)])
    assert (rows[0].times.count, rows[0].times.total_ns, rows[0].self_ns) == (2, 60, 60)
    assert rows[1].self_ns == 20


def test_failures_are_counted() -> None:
    samples = (Sample("unet_forward", Span(0, 1)), Sample("unet_forward", Span(1, 1), failed=True))
    rows = section_table([Iteration(0, Span(0, 3), samples, error="out of memory")])
    assert [(row.section, row.failures) for row in rows] == [("unet_forward", 1), (BETWEEN, 1)]


def test_the_device_clock_reads_where_it_knows_everything() -> None:
    known = Span(0, 5, device_start_ns=1, device_ns=50)
    rows = section_table([Iteration(0, Span(0, 9, 0, 90), (Sample("unet_forward", known),))])
    assert [(row.clock, row.self_ns) for row in rows] == [("device", 50), ("device", 40)]
    assert [row.self_ns for row in section_table([Iteration(0, Span(0, 9, 0, 90), (Sample("a", known),))], HOST)] == [
        5,
        4,
    ]


def test_the_host_clock_reads_where_the_device_does_not_know_one_span() -> None:
    samples = (Sample("unet_forward", Span(0, 5, 1, 50)), Sample("vae_decode", Span(5, 2)))
    rows = section_table([Iteration(0, Span(0, 9, 0, 90), samples)])
    assert {row.clock for row in rows} == {"host"}
    assert sum(row.self_ns for row in rows) == 9
    with pytest.raises(ValueError, match="has no device time"):
        section_table([Iteration(0, Span(0, 9, 0, 90), samples)], DEVICE)


def test_without_iterations_there_are_no_rows() -> None:
    assert section_table([]) == []


@pytest.mark.parametrize("device", [CPU, GPU])
def test_each_iteration_adds_up_for_itself_and_with_the_others(device: object) -> None:
    measured = measured_profile(device=device).measured  # type: ignore[arg-type]
    assert measured is not None
    warm_up = measured.iterations[:1]
    for iterations in (*[[one] for one in measured.iterations], measured.timed_iterations, warm_up):
        assert sum(row.self_ns for row in section_table(iterations)) == sum(one.wall.host_ns for one in iterations)


def test_warm_ups_are_not_among_the_timed() -> None:
    warm_up, timed = iteration_on(CPU, times=3, warmup=True), iteration_on(CPU)
    measured = measured_profile(iterations=[warm_up, timed]).measured
    assert measured is not None
    assert by_name(section_table(measured.timed_iterations))["vae_decode"].times.total_ns == 3_000_000_000
    assert by_name(section_table(measured.iterations[:1]))["vae_decode"].times.total_ns == 9_000_000_000


times = st.integers(0, 10**12)


@st.composite
def nested(draw: st.DrawFn) -> Iteration:
    samples: list[Sample] = []
    for number in range(draw(st.integers(0, 12))):
        parent = draw(st.none() | st.integers(0, number - 1)) if number else None
        samples.append(Sample(draw(st.sampled_from("abc")), Span(draw(times), draw(times)), parent=parent))
    return Iteration(0, Span(0, draw(times)), tuple(samples))


@given(st.lists(nested(), max_size=4))
def test_whatever_was_measured_own_times_add_up_to_the_wall(iterations: list[Iteration]) -> None:
    assert sum(row.self_ns for row in section_table(iterations)) == sum(one.wall.host_ns for one in iterations)
