"""A VAE that needs the most memory, memory that is not freed, fragmentation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.record.measured import MemoryPoint
from diffprof.record.profile import Profile
from tests.findings.problems import (
    MIB,
    ends_with,
    findings_of_kind,
    reserving,
    the_finding,
    with_pictures,
    with_vae_peak,
)
from tests.sample_iterations import CPU, GB, GPU, iteration, iteration_on
from tests.sample_profiles import measured_profile

REST = 4 * GB  # what the other components need at most in these profiles


@pytest.mark.parametrize(("peak", "decides"), [(1.19, False), (1.2, True)])
def test_a_vae_that_needs_a_fifth_more_than_the_rest_decides_what_fits(peak: float, decides: bool) -> None:
    assert bool(findings_of_kind(with_vae_peak(round(peak * REST)), "vae_decode_memory")) is decides


def test_the_evidence_names_both_peaks_and_what_was_counted() -> None:
    finding = the_finding(with_vae_peak(9 * GB), "vae_decode_memory")
    evidence = finding.evidence
    assert (evidence["peak_bytes"], evidence["rest_bytes"], evidence["excess_bytes"]) == (9 * GB, 4 * GB, 5 * GB)
    assert (evidence["memory"], evidence["component"]) == ("device", "vae")
    assert evidence["full_share"] == pytest.approx(9 / 80)
    assert evidence["activation_bytes"] == 1_073_741_824
    assert finding.stake == pytest.approx(5 / 80)


@pytest.mark.parametrize(("memory", "full"), [(5.3, False), (5.2, True)])
def test_a_vae_that_nearly_fills_the_device_decides_by_any_margin(memory: float, full: bool) -> None:
    profile = with_vae_peak(round(4.2 * GB))
    assert profile.measured is not None
    device = replace(GPU, memory_bytes=round(memory * GB))
    profile = replace(profile, measured=replace(profile.measured, device=device))
    assert bool(findings_of_kind(profile, "vae_decode_memory")) is full


def test_the_images_are_counted_where_several_are_decoded_at_once() -> None:
    finding = the_finding(with_pictures(with_vae_peak(9 * GB), 12), "vae_decode_memory")
    assert (finding.case, finding.evidence["pictures"]) == ("several_pictures", 12)


def test_on_a_cpu_the_decode_must_have_raised_the_peak_of_the_process() -> None:
    assert not findings_of_kind(_process(vae_end=5 * GB), "vae_decode_memory")
    finding = the_finding(_process(vae_end=7 * GB), "vae_decode_memory")
    assert (finding.evidence["memory"], finding.evidence["peak_bytes"]) == ("process", 7 * GB)
    assert finding.evidence["rest_bytes"] == 5 * GB


def _process(vae_end: int) -> Profile:
    """A process whose peak is 5 GB until the decode, and `vae_end` after it."""
    one = iteration()
    decode = next(number for number, sample in enumerate(one.samples) if sample.section == "vae_decode")
    points = (
        MemoryPoint("vae_decode begins", 0, 2 * GB, 5 * GB, sample=decode),
        MemoryPoint("vae_decode ends", 1, 2 * GB, vae_end, sample=decode),
    )
    return measured_profile(iterations=[replace(one, memory=points)])


def test_memory_that_was_never_read_is_not_evidence() -> None:
    blind = replace(iteration_on(GPU), memory=())
    profile = measured_profile(device=GPU, iterations=[blind] * 4)
    for rule in ("vae_decode_memory", "memory_not_freed", "fragmentation"):
        assert not findings_of_kind(profile, rule)


@pytest.mark.parametrize(("step", "grows"), [(31 * MIB, False), (32 * MIB, True)])
def test_memory_that_grows_in_each_iteration_is_not_freed(step: int, grows: bool) -> None:
    profile = ends_with(3 * GB, 3 * GB + step, 3 * GB + 2 * step)
    assert [finding.case for finding in findings_of_kind(profile, "memory_not_freed")] == (["grows"] if grows else [])


def test_the_process_needs_to_grow_more_than_a_device() -> None:
    def growing(step: int) -> Profile:
        return ends_with(3 * GB, 3 * GB + step, 3 * GB + 2 * step, device=CPU)

    assert not findings_of_kind(growing(127 * MIB), "memory_not_freed")
    finding = the_finding(growing(128 * MIB), "memory_not_freed")
    assert finding.evidence["memory"] == "process"
    assert finding.evidence["growth_bytes"] == 256 * MIB


def test_memory_that_goes_up_and_down_is_not_a_trend() -> None:
    assert not findings_of_kind(ends_with(3 * GB, 5 * GB, 4 * GB, 4 * GB), "memory_not_freed")


@pytest.mark.parametrize(("kept", "is_kept"), [(63 * MIB, False), (64 * MIB, True)])
def test_what_a_call_keeps_on_the_device_is_not_freed(kept: int, is_kept: bool) -> None:
    profile = ends_with(3 * GB, 3 * GB + kept)
    assert [finding.case for finding in findings_of_kind(profile, "memory_not_freed")] == (["kept"] if is_kept else [])


def test_what_the_very_first_call_keeps_may_be_needed_by_the_next() -> None:
    assert not findings_of_kind(
        measured_profile(device=GPU, iterations=[iteration_on(GPU, kept_bytes=GB)]), "memory_not_freed"
    )


@pytest.mark.parametrize(("reserved", "fragmented"), [(5.9, False), (6.0, True)])
def test_a_fifth_more_reserved_than_was_ever_needed_is_fragmentation(reserved: float, fragmented: bool) -> None:
    profile = reserving(5 * GB, round(reserved * GB))
    assert bool(findings_of_kind(profile, "fragmentation")) is fragmented


def test_a_reserve_from_before_the_measurement_is_not_called_fragmentation() -> None:
    assert not findings_of_kind(reserving(40 * GB, 40 * GB), "fragmentation")


def test_the_largest_excess_is_what_counts() -> None:
    evidence = the_finding(reserving(5 * GB, 9 * GB, 7 * GB), "fragmentation").evidence
    assert (evidence["reserved_bytes"], evidence["needed_bytes"]) == (9 * GB, 5 * GB)
