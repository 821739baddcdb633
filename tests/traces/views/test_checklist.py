"""A check in words: with its numbers, its thresholds and advice only where there is something to do."""

from __future__ import annotations

import pytest

from diffprof.traces.analysis.checklist import BAD, GOOD, NOT_THERE, THRESHOLDS, UNKNOWN, TraceCheck
from diffprof.traces.facts import AlternativeReason, FusedAlternative
from diffprof.traces.views.checklist import NO_GPU, WORDING, describe_check

SLOW = {"slow_ns": 9_000_000, "attention_ns": 10_000_000, "of_gpu": 0.5, "shapes": "1x2x60"}


def test_every_question_has_its_wording() -> None:
    assert list(WORDING) == list(THRESHOLDS)


def test_a_bad_check_has_advice_and_a_good_one_has_none() -> None:
    evidence = {"busy_ns": 1_000_000, "total_ns": 4_000_000, "idle_ns": 3_000_000}
    bad = describe_check(TraceCheck("gpu_busy", BAD, 0.25, evidence))
    assert (bad.verdict, bad.evidence) == ("bad", "25.0 % of the time (1.00 ms of 4.00 ms)")
    assert bad.threshold == "good from 90.0 %, bad below 70.0 %"
    assert bad.advice == "The GPU was idle for 3.00 ms: start with the largest cause."
    assert describe_check(TraceCheck("gpu_busy", GOOD, 0.95, evidence)).advice == ""


@pytest.mark.parametrize(
    ("alternative", "advice"),
    [
        (FusedAlternative("flash", AlternativeReason.fits), "A fused kernel could run (flash): "),
        (FusedAlternative("", AlternativeReason.no_shapes), "A fused kernel could run: "),
        (
            FusedAlternative("", AlternativeReason.odd_head, 60),
            "No fused kernel accepts 1x2x60 (none: a head size",
        ),
    ],
)
def test_the_advice_for_attention_depends_on_the_alternative(alternative: FusedAlternative, advice: str) -> None:
    check = TraceCheck("attention", BAD, 0.9, {**SLOW, "alternative": alternative})
    assert describe_check(check).advice.startswith(advice)


def test_what_is_unknown_or_missing_says_why() -> None:
    assert describe_check(TraceCheck("memory", UNKNOWN)).evidence == "needs profile_memory=True and three steps"
    assert describe_check(TraceCheck("memory", UNKNOWN, evidence={"gpu_work": False})).evidence == NO_GPU
    missing = describe_check(TraceCheck("compiled", NOT_THERE))
    assert (missing.verdict, missing.evidence) == ("-", "nothing was compiled")
