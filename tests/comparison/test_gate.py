"""What the gate makes of limits: counts exactly, times only when they can tell."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

import diffprof
from diffprof.comparison import Pair, compare_pair
from diffprof.comparison.counts import METRICS
from diffprof.comparison.gate import FAILED, PASSED, TIMES, TOO_NOISY, GateLimit, default_limits, gate, parse_limits
from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from tests.comparison.noise import SECOND, quiet, run_of
from tests.sample_iterations import CPU, GPU
from tests.sample_profiles import UNET_MACS, everything_measured, stable_diffusion
from tests.small_pipelines import SMALL_PIPELINES


def outcome(pair: Pair, limits: str, **options: Any) -> str:
    return gate(pair, parse_limits(limits), **options).outcome


def one_call_more() -> Pair:
    """The scheduler makes one step more of the same request: 31 calls of the UNet become 32."""
    return compare_pair(stable_diffusion(), stable_diffusion(unet_calls=32))


def test_equal_profiles_pass_every_limit() -> None:
    pair = compare_pair(stable_diffusion(), stable_diffusion())
    limits = ",".join(f"{name}=+0%" for name in METRICS)
    assert {check.outcome for check in gate(pair, parse_limits(limits)).checks} == {PASSED}
    assert gate(pair).exit_code == 0


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("calls=+0", FAILED),
        ("calls=+1", PASSED),
        ("calls=+0%", FAILED),
        ("calls=+3%", PASSED),
        ("calls.unet=+0", FAILED),
        ("calls.vae=+0", PASSED),
        ("macs=+0%", FAILED),
        ("macs=+5%", PASSED),
        (f"macs=+{UNET_MACS}", PASSED),
        (f"macs=+{UNET_MACS - 1}", FAILED),
        ("macs=+804G", FAILED),
        ("macs=+805G", PASSED),
        ("macs.unet=+0%", FAILED),
        ("parameters=+0%", PASSED),
        ("parameters=-1%", FAILED),
        ("peak_memory=+0", PASSED),
        ("bytes=+10MB", FAILED),
        ("bytes=+1TB", PASSED),
        ("macs=1G", FAILED),
        ("macs=1000T", PASSED),
        ("weights=1MB", FAILED),
        ("macs=+5%,calls=+0", FAILED),
    ],
)
def test_a_count_fails_exactly_beyond_its_limit(limits: str, expected: str) -> None:
    assert outcome(one_call_more(), limits) == expected


def test_without_limits_one_call_more_fails() -> None:
    found = gate(one_call_more())
    assert found.exit_code == 1
    assert {check.limit.name for check in found.checks if check.outcome == FAILED} == {"macs", "calls"}


def test_times_are_limited_by_default_where_both_were_measured() -> None:
    counted = [limit.name for limit in default_limits(one_call_more())]
    assert counted == ["macs", "parameters", "peak_memory", "calls"]
    on_gpu = compare_pair(run_of([SECOND] * 20), run_of([SECOND] * 20))
    assert [limit.name for limit in default_limits(on_gpu)] == [*counted, "time"]
    runs = [run_of([SECOND] * 20, device=CPU, cpu_share=1) for _ in range(2)]
    assert [limit.name for limit in default_limits(compare_pair(*runs))] == [*counted, "time", "cpu_time"]


@pytest.mark.parametrize(
    ("slowdown", "limit", "expected"),
    [
        (1.1, "time=+5%", FAILED),
        (1.0, "time=+5%", PASSED),
        (0.8, "time=+5%", PASSED),
        (1.05, "time=+5%", TOO_NOISY),
        (1.0, "time=+0%", TOO_NOISY),
        (0.8, "time=-10%", PASSED),
        (1.0, "time=-10%", FAILED),
    ],
)
def test_a_time_fails_or_passes_only_when_the_whole_interval_does(slowdown: float, limit: str, expected: str) -> None:
    source = random.Random(21)
    pair = compare_pair(run_of(quiet(source, 20)), run_of(quiet(source, 20, slowdown)))
    assert outcome(pair, limit) == expected


def test_three_samples_are_too_few_however_slow() -> None:
    pair = compare_pair(run_of([SECOND] * 3), run_of([9 * SECOND] * 3))
    assert gate(pair).exit_code == 3


def test_a_failed_limit_outweighs_an_inconclusive_one() -> None:
    slower = replace(stable_diffusion(unet_calls=32), measured=run_of([SECOND] * 3).measured)
    pair = compare_pair(run_of([SECOND] * 3), slower)
    assert {check.outcome for check in gate(pair).checks} == {FAILED, TOO_NOISY, PASSED}
    assert gate(pair).exit_code == 1


def test_a_section_has_a_limit_of_its_own() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    runs = [diffprof.measure(small.build(), iterations=2, **small.arguments()).profile for _ in range(2)]
    limits = "time.vae_decode=+5%,step_time=+5%,cpu_time=+5%"
    found = gate(compare_pair(*runs), parse_limits(limits))
    assert [(check.limit.name, check.outcome) for check in found.checks] == [
        ("time.vae_decode", TOO_NOISY),
        ("step_time", TOO_NOISY),
        ("cpu_time", TOO_NOISY),
    ]


def test_a_real_pipeline_with_a_lora_is_heavier_and_the_same_one_is_not() -> None:
    def profile_of(name: str) -> Profile:
        return diffprof.profile(SMALL_PIPELINES[name].build(), **SMALL_PIPELINES[name].arguments())

    plain = profile_of("stable-diffusion")
    assert gate(compare_pair(plain, profile_of("stable-diffusion"))).exit_code == 0
    found = gate(compare_pair(plain, profile_of("stable-diffusion-lora")))
    assert {check.limit.name for check in found.checks if check.outcome == FAILED} >= {"macs", "parameters"}


def test_limits_are_read_with_their_units() -> None:
    assert parse_limits("macs=+0%, time.vae_decode=5%") == (
        GateLimit("macs", None, 0.0, relative=True),
        GateLimit("time", "vae_decode", 0.05, relative=True),
    )
    assert parse_limits("peak_memory=+1.5GiB") == (GateLimit("peak_memory", None, 1.5 * 2**30, relative=False),)
    assert parse_limits("calls=+2") == (GateLimit("calls", None, 2, relative=False),)
    assert parse_limits("weights=24GB") == (GateLimit("weights", None, 24e9, relative=False, ceiling=True),)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("macs", "Cannot read the limit 'macs'"),
        ("macs=", "Cannot read the limit"),
        ("macs=lots", "Cannot read the limit"),
        ("macs=+1e999", "not a finite number"),
        ("macs=5", r"can mean two things: write macs=\+5% or macs=\+5\."),
        ("calls.unet=0", r"can mean two things: write calls\.unet=\+0% or calls\.unet=\+0\."),
        ("speed=+5%", "There is no metric speed to limit; there are macs,"),
        ("tim=+5%", r"There is no metric tim to limit; did you mean time\?"),
        ("time=+5", r"must be in percent, such as time=\+5%"),
        ("time=+5ms", "must be in percent"),
        ("step_time.unet=+5%", "limit it without .unet"),
        ("steps.unet=+0", "limit it without .unet"),
        ("macs=+5MB", "a unit that macs does not have"),
        ("bytes=+5parsec", "a unit that bytes does not have"),
        ("macs=+0%,macs=+5%", "two limits for macs"),
    ],
)
def test_an_invalid_limit_is_rejected_with_a_message(text: str, sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        parse_limits(text)


@pytest.mark.parametrize(
    ("pair", "limits", "sentence"),
    [
        (compare_pair(stable_diffusion(), stable_diffusion()), "time=+5%", "one of the two was only counted"),
        (compare_pair(stable_diffusion(), stable_diffusion()), "macs.prior=+0%", "no component prior .* there are vae"),
        (
            compare_pair(run_of([SECOND] * 9), run_of([SECOND] * 9)),
            "time.vae_decode=+5%",
            "There is no time.vae_decode",
        ),
        (compare_pair(run_of([SECOND] * 9), run_of([SECOND] * 9)), "cpu_time=+5%", "it was not measured in both"),
        (compare_pair(stable_diffusion(), stable_diffusion()), "", "There is no limit to check"),
    ],
)
def test_a_limit_on_a_missing_part_is_rejected_with_a_message(pair: Pair, limits: str, sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        gate(pair, parse_limits(limits))


def test_a_run_that_could_not_be_counted_does_not_pass_for_being_nothing() -> None:
    measured = run_of([SECOND] * 20)
    not_counted = replace(
        measured,
        calls=(),
        components={slot: replace(part, calls=0) for slot, part in measured.components.items()},
    )
    with pytest.raises(RequestError, match="the calls of the candidate were not counted"):
        gate(compare_pair(measured, not_counted))
    assert outcome(compare_pair(measured, not_counted), "time=+5%") == PASSED


def test_a_different_request_is_rejected_unless_allowed() -> None:
    pair = compare_pair(stable_diffusion(), stable_diffusion(steps=20, unet_calls=21))
    with pytest.raises(RequestError, match="another request: num_inference_steps is 30 there and 20 here"):
        gate(pair)
    assert gate(pair, allow_different=True).outcome == PASSED


def test_a_different_device_is_rejected_for_times_only() -> None:
    pair = compare_pair(run_of([SECOND] * 20, device=CPU), run_of([SECOND] * 20, device=GPU))
    with pytest.raises(RequestError, match=r"another device: name of the device is 'AMD EPYC 7763' there"):
        gate(pair)
    assert outcome(pair, "macs=+0%") == PASSED


def test_another_version_is_what_a_gate_is_for() -> None:
    profile = stable_diffusion()
    other = replace(profile, environment=replace(profile.environment, diffusers="0.50.0"))
    assert gate(compare_pair(profile, other)).outcome == PASSED


def test_a_run_that_was_interrupted_can_be_held_against_itself() -> None:
    pair = compare_pair(everything_measured(), everything_measured())
    assert gate(pair).exit_code == 3, "one sample tells nothing"
    assert set(TIMES) == {"time", "cpu_time", "step_time"}
