"""Several ranks of one run: stragglers, exposed communication, imbalance."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.errors import RequestError
from diffprof.traces.analysis.explain import explain_trace
from diffprof.traces.analysis.ranks import compare_ranks
from diffprof.traces.facts import TraceExplanation
from tests.traces.trace_builder import TraceBuilder

NCCL = "ncclDevKernel_AllReduce_Sum_bf16"


def rank(
    folder: Path, number: int, computes: float, calls: int = 3, name: str = "", **info: object
) -> TraceExplanation:
    """A rank that computes for `computes` of 100 microseconds and then waits until all have come."""
    builder = TraceBuilder(
        **({"distributedInfo": {"rank": number, "world_size": 2, **info}} if info != {"rank": None} else {})
    )
    for call in range(calls):
        begin = 110 * call
        builder.gpu("gemm", begin, begin + computes)
        builder.gpu(NCCL, begin + computes, begin + 110)
    return explain_trace(builder.write(folder / (name or f"trace_{number}.json")))


def test_the_rank_that_all_wait_for_is_the_straggler(tmp_path: Path) -> None:
    ranks = compare_ranks([rank(tmp_path, 1, 100), rank(tmp_path, 0, 60)])
    fast, slow = ranks.rows
    assert (fast.rank, slow.rank) == (0, 1)
    assert (fast.computation_ns, fast.exposed_communication_ns, fast.waited_ns) == (180_000, 150_000, 120_000)
    assert (slow.computation_ns, slow.exposed_communication_ns, slow.waited_ns) == (300_000, 30_000, 0)
    assert (fast.last_arrivals, slow.last_arrivals, ranks.collectives) == (0, 3, 3)
    assert ranks.straggler == slow
    assert ranks.imbalance == pytest.approx(300 / 240 - 1)


def test_ranks_that_arrive_last_in_turns_have_no_straggler(tmp_path: Path) -> None:
    explanations = []
    for number, times in enumerate(([50, 90], [90, 50])):
        builder = TraceBuilder(distributedInfo={"rank": number, "world_size": 2})
        for call, computes in enumerate(times):
            builder.gpu(NCCL, 100 * call + computes, 100 * call + 100)
        explanations.append(explain_trace(builder.write(tmp_path / f"{number}.json")))
    assert compare_ranks(explanations).straggler is None


def test_calls_that_not_all_ranks_made_are_counted_separately(tmp_path: Path) -> None:
    ranks = compare_ranks([rank(tmp_path, 0, 50, calls=3), rank(tmp_path, 1, 50, calls=2)])
    assert (ranks.collectives, ranks.unmatched, ranks.straggler) == (0, 3, None)


def test_the_rank_is_that_of_the_file_name_if_the_trace_names_none(tmp_path: Path) -> None:
    explanations = [rank(tmp_path, 0, 50, name=f"run_rank-{number}.json", rank=None) for number in (3, 2)]
    ranks = compare_ranks(explanations)
    assert ([row.rank for row in ranks.rows], ranks.numbered_by_order) == ([2, 3], False)


def test_without_any_name_ranks_are_numbered_by_order(tmp_path: Path) -> None:
    explanations = [rank(tmp_path, 0, 50, name=f"{name}.json", rank=None) for name in "ab"]
    ranks = compare_ranks(explanations)
    assert ([row.rank for row in ranks.rows], ranks.numbered_by_order) == ([0, 1], True)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"number": 0, "name": "b.json"}, "Two of the traces belong to rank 0"),
        ({"number": 1, "world_size": 8}, "different runs, of 2 and 8 ranks"),
        ({"number": 1, "name": "b.json", "rank": None}, "b.json does not name its rank"),
    ],
)
def test_traces_of_different_runs_are_rejected(others: dict[str, object], words: str, tmp_path: Path) -> None:
    first = rank(tmp_path, 0, 50)
    second = rank(tmp_path, computes=50, **others)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match=words):
        compare_ranks([first, second])
