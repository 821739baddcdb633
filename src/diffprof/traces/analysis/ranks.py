"""Several ranks of one run: who computed how long, who waited for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diffprof.errors import RequestError
from diffprof.traces.facts import TraceExplanation


@dataclass(frozen=True)
class RankRow:
    """What one rank did."""

    rank: int
    path: str
    total_ns: int
    computation_ns: int
    communication_ns: int
    exposed_communication_ns: int
    exposed_copy_ns: int
    idle_ns: int
    waited_ns: int
    """In communication, until the last rank had come: what its calls took longer than the shortest one."""
    last_arrivals: int
    """How often its call was the shortest one: all others waited for it."""


@dataclass(frozen=True)
class RankComparison:
    """The ranks beside each other."""

    rows: tuple[RankRow, ...]
    collectives: int
    """Calls that all ranks made and that were compared."""
    unmatched: int
    """Calls that not all ranks made."""
    numbered_by_order: bool
    """Whether the traces do not say which rank they are of."""

    @property
    def imbalance(self) -> float:
        """How much longer the longest computation is than the mean."""
        times = [row.computation_ns for row in self.rows]
        mean = sum(times) / len(times)
        return max(times) / mean - 1 if mean else 0.0

    @property
    def straggler(self) -> RankRow | None:
        """The rank that the others waited for in more than half of the calls; None where it was no one rank."""
        last = max(self.rows, key=lambda row: row.last_arrivals)
        return last if self.collectives and 2 * last.last_arrivals > self.collectives else None


def compare_ranks(explanations: Sequence[TraceExplanation]) -> RankComparison:
    """The ranks of one run; a `RequestError` when the traces cannot be of one run."""
    numbered, by_order = _numbered(explanations)
    waited, last, compared, unmatched = _waits([explanation for _, explanation in numbered])
    rows = [
        RankRow(
            rank=rank,
            path=explanation.source.path,
            total_ns=explanation.total_ns,
            computation_ns=sum(line.computation_ns for line in explanation.timelines),
            communication_ns=sum(line.communication_ns for line in explanation.timelines),
            exposed_communication_ns=sum(line.exposed_communication_ns for line in explanation.timelines),
            exposed_copy_ns=sum(line.exposed_copy_ns for line in explanation.timelines),
            idle_ns=explanation.idle_ns,
            waited_ns=waited[place],
            last_arrivals=last[place],
        )
        for place, (rank, explanation) in enumerate(numbered)
    ]
    return RankComparison(tuple(rows), compared, unmatched, by_order)


def _numbered(explanations: Sequence[TraceExplanation]) -> tuple[list[tuple[int, TraceExplanation]], bool]:
    """The reports by rank, and whether the order had to tell."""
    ranks = [explanation.source.rank for explanation in explanations]
    sizes = {explanation.source.world_size for explanation in explanations if explanation.source.world_size is not None}
    if len(sizes) > 1:
        several = " and ".join(map(str, sorted(sizes)))
        raise RequestError(f"The traces are of different runs: of {several} ranks; give the ranks of one run only.")
    known = [rank for rank in ranks if rank is not None]
    if known and len(known) < len(ranks):
        silent = explanations[ranks.index(None)].source.path
        raise RequestError(
            f"{silent} does not say which rank it is of, as the others do; give the ranks of one run only."
        )
    twice = next((rank for rank in known if known.count(rank) > 1), None)
    if twice is not None:
        raise RequestError(
            f"Two of the traces are of rank {twice}; give one of each rank, or compare two runs with --against."
        )
    if not known:
        return list(enumerate(explanations)), True
    return sorted(
        ((rank, explanation) for rank, explanation in zip(known, explanations, strict=True)), key=lambda pair: pair[0]
    ), False


def _waits(explanations: Sequence[TraceExplanation]) -> tuple[list[int], list[int], int, int]:
    """For each rank how long it waited and how often it came last; how many calls could be compared or not.

    A call of all ranks ends for all at once. So the one that took the shortest time came last, and what it took
    longer for another is what that one waited: no clocks have to agree.
    """
    waited, last = [0] * len(explanations), [0] * len(explanations)
    compared = unmatched = 0
    names = dict.fromkeys(call.name for explanation in explanations for call in explanation.collectives)
    for name in names:
        durations = [
            next((call.durations_ns for call in explanation.collectives if call.name == name), ())
            for explanation in explanations
        ]
        if len({len(times) for times in durations}) > 1:
            unmatched += max(map(len, durations))
            continue
        for times in zip(*durations, strict=True):
            compared += 1
            shortest = min(times)
            last[times.index(shortest)] += 1
            for place, time in enumerate(times):
                waited[place] += time - shortest
    return waited, last, compared, unmatched
