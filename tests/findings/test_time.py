"""What dominates the time, and what the scheduler takes."""

from __future__ import annotations

import pytest

from diffprof.record.measured import Iteration, Sample, Span
from tests.findings.problems import findings_of_kind, the_finding
from tests.sample_iterations import GPU, MILLISECOND, iteration, iteration_on
from tests.sample_profiles import measured_profile


def test_total_time_counts_not_the_time_of_one_call() -> None:
    finding = the_finding(measured_profile(iterations=[iteration(unet_ms=900, steps=10)], steps=10), "dominant_section")
    evidence = finding.evidence
    assert (evidence["section"], evidence["component"], evidence["calls"]) == ("unet_forward", "unet", 10)
    assert evidence["total_seconds"] == pytest.approx(9)
    assert evidence["mean_seconds"] == pytest.approx(0.9)
    assert (evidence["longest"], evidence["longest_seconds"]) == ("vae_decode", pytest.approx(3))
    assert evidence["total_share"] + evidence["rest_share"] == pytest.approx(1)


def test_what_has_the_longest_calls_is_only_named_when_it_is_something_else() -> None:
    finding = the_finding(measured_profile(iterations=[iteration(vae_ms=30_000)]), "dominant_section")
    assert finding.evidence["section"] == "vae_decode"
    assert finding.evidence["longest"] is None


@pytest.mark.parametrize(("milliseconds", "dominates"), [(499, False), (500, True)])
def test_half_of_the_time_dominates(milliseconds: int, dominates: bool) -> None:
    samples = (
        Sample("unet_forward", Span(0, milliseconds * MILLISECOND), "unet"),
        Sample("vae_decode", Span(500 * MILLISECOND, 300 * MILLISECOND), "vae"),
    )
    one = Iteration(0, Span(0, 1_000 * MILLISECOND), samples)
    assert bool(findings_of_kind(measured_profile(iterations=[one]), "dominant_section")) is dominates


def test_a_section_is_not_blamed_for_what_runs_inside_it() -> None:
    finding = the_finding(measured_profile(iterations=[iteration(text_ms=20_000)]), "dominant_section")
    assert finding.evidence["section"] == "text_encoder_forward"  # not encode_prompt, which takes a little longer
    assert finding.evidence["longest"] is None


@pytest.mark.parametrize(("milliseconds", "too_much"), [(9.8, False), (10.2, True)])
def test_a_scheduler_may_take_one_percent_of_a_step(milliseconds: float, too_much: bool) -> None:
    one = iteration(unet_ms=990, scheduler_ms=milliseconds, between_ms=0)
    assert bool(findings_of_kind(measured_profile(iterations=[one]), "scheduler_overhead")) is too_much


def test_the_scheduler_is_timed_on_the_device_where_one_is_used() -> None:
    one = iteration_on(GPU, unet_ms=8, scheduler_ms=2, between_ms=0)
    evidence = the_finding(measured_profile(device=GPU, iterations=[one]), "scheduler_overhead").evidence
    assert evidence["scheduler_share"] == pytest.approx(0.2)
    assert (evidence["mean_seconds"], evidence["step_seconds"]) == (pytest.approx(0.002), pytest.approx(0.01))
