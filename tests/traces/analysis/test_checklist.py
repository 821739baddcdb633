"""The checklist: each question answered good, worth a look or bad at its thresholds."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.traces.analysis.checklist import (
    BAD,
    GOOD,
    LOOK,
    NOT_THERE,
    THRESHOLDS,
    UNKNOWN,
    Thresholds,
    TraceCheck,
    checklist,
)
from diffprof.traces.analysis.explain import explain_trace
from tests.traces.trace_builder import TraceBuilder, two_denoising_steps


def checks_of(builder: TraceBuilder, folder: Path) -> dict[str, TraceCheck]:
    return {check.name: check for check in checklist(explain_trace(builder.write(folder / "t.json")))}


@pytest.mark.parametrize(
    ("thresholds", "verdicts"),
    [
        (Thresholds(0.9, 0.7), {0.95: GOOD, 0.9: GOOD, 0.89: LOOK, 0.7: LOOK, 0.69: BAD}),
        (Thresholds(0.02, 0.1), {0.0: GOOD, 0.02: GOOD, 0.03: LOOK, 0.1: LOOK, 0.11: BAD}),
    ],
)
def test_a_threshold_itself_is_on_the_better_side(thresholds: Thresholds, verdicts: dict[float, str]) -> None:
    assert {share: thresholds.verdict(share) for share in verdicts} == verdicts


def test_every_question_is_answered_once_and_in_order(tmp_path: Path) -> None:
    assert list(checks_of(two_denoising_steps(), tmp_path)) == list(THRESHOLDS)


def test_a_pipeline_that_waits_gets_bad_verdicts(tmp_path: Path) -> None:
    checks = checks_of(two_denoising_steps(), tmp_path)
    assert (checks["gpu_busy"].verdict, checks["gpu_busy"].share) == (BAD, pytest.approx(400 / 810))
    # After each copy and in each step the host had waited: 70, 10 and 10 microseconds.
    waited = checks["host_blocking"]
    assert (waited.verdict, waited.evidence["lost_ns"], waited.evidence["gaps"]) == (BAD, 90_000, 3)
    assert (checks["attention"].verdict, checks["attention"].share) == (GOOD, 0)
    assert (checks["copies"].verdict, checks["copies"].evidence["pageable_bytes"]) == (LOOK, 6_000_000)
    assert checks["scheduler"].evidence["calls"] == 2
    assert (checks["compiled"].verdict, checks["communication"].verdict) == (NOT_THERE, NOT_THERE)
    assert checks["memory"].verdict == UNKNOWN


@pytest.mark.parametrize(("held", "verdict"), [([5, 100, 100, 100], GOOD), ([5, 100, 103], LOOK), ([5, 100, 150], BAD)])
def test_memory_is_flat_when_steps_after_the_first_hold_no_more(held: list[int], verdict: str, tmp_path: Path) -> None:
    builder = TraceBuilder()
    for number, size in enumerate(held):
        builder.section(f"ProfilerStep#{number}", 100 * number, 100 * number + 90)
        builder.kernel("gemm", 100 * number + 10, 100 * number + 20, launched=100 * number + 5)
        builder.memory(100 * number + 50, size)
    assert checks_of(builder, tmp_path)["memory"].verdict == verdict


def test_communication_that_nothing_hides_is_bad(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.gpu("gemm", 0, 50)
    builder.gpu("ncclDevKernel_AllReduce", 40, 100, stream=9)
    check = checks_of(builder, tmp_path)["communication"]
    assert (check.verdict, check.share) == (BAD, 0.5)


def test_without_launches_the_checks_of_the_host_are_unknown(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.gpu("gemm", 0, 50)
    builder.gpu("gemm", 90, 100)
    checks = checks_of(builder, tmp_path)
    assert {name for name, check in checks.items() if check.verdict == UNKNOWN} == {
        *("host_blocking", "host_keeps_up", "launch_latency", "scheduler", "memory"),
    }


def test_without_gpu_work_every_check_is_unknown(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 0, 10)
    assert {check.verdict for check in checks_of(builder, tmp_path).values()} == {UNKNOWN}
