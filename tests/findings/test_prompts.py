"""The same prompt encoded again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.findings.problems import encoding_again, findings_of_kind, the_finding
from tests.sample_iterations import iteration
from tests.sample_profiles import measured_profile


def test_a_program_that_encodes_a_prompt_in_every_call_could_save_all_but_the_first() -> None:
    calls = [iteration(text_ms=500)] * 3
    finding = the_finding(measured_profile(iterations=calls, repeated=False), "prompt_encoded_again")
    encoding = calls[0].samples[0]
    assert finding.case == "over_calls"
    assert (finding.evidence["again"], finding.evidence["prompts"]) == (2, 1)
    assert finding.evidence["saved_seconds"] == pytest.approx(2 * encoding.span.host_ns / 1e9)
    assert finding.stake == pytest.approx(2 * encoding.span.host_ns / (3 * calls[0].wall.host_ns))


def test_a_measurement_that_repeats_its_call_is_not_accused() -> None:
    assert not findings_of_kind(measured_profile(iterations=[iteration(text_ms=500)] * 3), "prompt_encoded_again")


def test_other_prompts_have_to_be_encoded() -> None:
    calls = [iteration(text_ms=500, prompt=prompt) for prompt in ("a cat", "a dog")]
    assert not findings_of_kind(measured_profile(iterations=calls, repeated=False), "prompt_encoded_again")


def test_a_prompt_that_is_encoded_twice_in_one_call_is_found_in_a_measurement_too() -> None:
    finding = the_finding(measured_profile(iterations=[encoding_again(2)] * 2), "prompt_encoded_again")
    assert (finding.case, finding.evidence["again"]) == ("in_one_call", 4)


def test_an_encoding_that_failed_is_not_one_that_could_be_kept() -> None:
    first = iteration(text_ms=500)
    failed = replace(first, samples=tuple(replace(sample, failed=True) for sample in first.samples))
    assert not findings_of_kind(measured_profile(iterations=[failed, first], repeated=False), "prompt_encoded_again")


def test_what_runs_inside_an_encoding_is_not_saved_twice() -> None:
    one = iteration(text_ms=500)
    inner = tuple(
        replace(sample, digest="tokens") if sample.section == "text_encoder_forward" and number == 1 else sample
        for number, sample in enumerate(one.samples)
    )
    calls = [replace(one, samples=inner)] * 2
    finding = the_finding(measured_profile(iterations=calls, repeated=False), "prompt_encoded_again")
    assert finding.evidence["section"] == "encode_prompt"


@pytest.mark.parametrize(("milliseconds", "worth_it"), [(80, False), (140, True)])
def test_less_than_one_percent_is_not_worth_a_change(milliseconds: float, worth_it: bool) -> None:
    calls = [iteration(text_ms=milliseconds)] * 2
    profile = measured_profile(iterations=calls, repeated=False)
    assert bool(findings_of_kind(profile, "prompt_encoded_again")) is worth_it
