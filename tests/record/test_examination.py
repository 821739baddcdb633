"""The verdict over a machine."""

from __future__ import annotations

import pytest

from diffprof.record.examination import Check, Examination, Verdict


@pytest.mark.parametrize(
    ("verdicts", "healthy"),
    [([], True), ([Verdict.ok, Verdict.skipped], True), ([Verdict.ok, Verdict.failed], False)],
)
def test_a_machine_is_healthy_if_no_promise_was_broken(verdicts: list[Verdict], healthy: bool) -> None:
    checks = tuple(Check(f"check {number}", verdict) for number, verdict in enumerate(verdicts))
    assert Examination({}, checks).is_healthy is healthy
