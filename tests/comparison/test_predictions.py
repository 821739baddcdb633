"""Predicted memory and time of two profiles, compared and limited."""

from __future__ import annotations

import pytest

import diffprof
from diffprof.comparison.compare import compare
from diffprof.comparison.gate import FAILED, PASSED, gate_profiles, parse_limits
from diffprof.comparison.views.console import comparison_markdown
from diffprof.comparison.views.gate import describe_check
from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from tests.prediction.samples import stable_diffusion_profile


@pytest.fixture(scope="module")
def few_steps() -> Profile:
    return diffprof.profile("shapes", num_inference_steps=10)


@pytest.fixture(scope="module")
def many_steps() -> Profile:
    return diffprof.profile("shapes", num_inference_steps=20)


def test_both_sides_are_predicted_on_each_accelerator(few_steps: Profile, many_steps: Profile) -> None:
    comparison = compare((few_steps, many_steps), ("a", "b"), accelerators=("t4", "h100-sxm"))
    (pair,) = comparison.pairs
    assert [change.accelerator for change in pair.predictions] == ["t4", "h100-sxm"]
    time = diffprof.predict(many_steps, gpu="t4").accelerators["t4"].total_seconds
    fit = diffprof.fit(many_steps, gpu="t4")
    after = pair.predictions[0].after
    assert (after.total_seconds, after.device_bytes, after.fits) == (time, fit.peak.device_bytes, fit.fits)
    assert "On which hardware" in comparison_markdown(comparison)


@pytest.mark.parametrize(
    ("limits", "outcome"),
    [
        ("predicted_memory=24GB", PASSED),
        ("predicted_memory=100MB", FAILED),
        ("predicted_memory[rtx-4090]=+0%", PASSED),
        ("predicted_time[h100-sxm]=+5%", FAILED),
        ("predicted_time[h100-sxm]=+200%", PASSED),
        ("predicted_time[t4]=1000s", PASSED),
        ("predicted_time[t4]=0.000001s", FAILED),
    ],
)
def test_limits_on_what_is_predicted(limits: str, outcome: str, few_steps: Profile, many_steps: Profile) -> None:
    gate = gate_profiles(few_steps, many_steps, limits, allow_different=True)
    assert gate.outcome == outcome
    assert limits.split("=")[0] in describe_check(gate.checks[0])


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("predicted_time=+5%", "A predicted time is that of an accelerator"),
        ("predicted_time[h100-sxn]=+5%", "did you mean h100-sxm"),
        ("predicted_time[t4]=5GB", "must be in percent or an amount"),
        ("predicted_memory=24", "must be in percent or an amount"),
        ("predicted_memory.vae=24GB", "of the whole generation"),
        ("macs[t4]=+0%", "not predicted for an accelerator"),
    ],
)
def test_limits_that_cannot_be_meant(limits: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parse_limits(limits)


def test_memory_of_a_profile_of_an_earlier_version_cannot_be_limited() -> None:
    old = stable_diffusion_profile()
    with pytest.raises(RequestError, match="count the model again"):
        gate_profiles(old, old, "predicted_memory=24GB")
