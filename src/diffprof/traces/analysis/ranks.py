"""Compare the ranks of one run: how long each computed, and which of them the others waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diffprof.errors import RequestError
from diffprof.traces.facts import TraceExplanation


@dataclass(frozen=True)
class RankRow:
    """The times of one rank."""

    rank: int
    path: str
    total_ns: int
    computation_ns: int
    communication_ns: int
    exposed_communication_ns: int
    exposed_copy_ns: int
    idle_ns: int
    waited_ns: int
    """Time spent waiting for the last rank in collective calls: the excess of its calls over the shortest ones."""
    last_arrivals: int
    """How often its call was the shortest, so that all others waited for it."""


@dataclass(frozen=True)
class RankComparison:
    """The ranks side by side."""

    rows: tuple[RankRow, ...]
    collectives: int
    """Collective calls that all ranks made, which were compared."""
    unmatched: int
    """Collective calls that not all ranks made."""
    numbered_by_order: bool
    """Whether the traces do not name their ranks."""

    @property
    def imbalance(self) -> float:
        """The excess of the longest computation over the mean, as a share of the mean."""
        times = [row.computation_ns for row in self.rows]
        mean = sum(times) / len(times)
        return max(times) / mean - 1 if mean else 0.0

    @property
    def straggler(self) -> RankRow | None:
        """The rank that the others waited for in more than half of the calls; None if there is no such rank."""
        last = max(self.rows, key=lambda row: row.last_arrivals)
        return last if self.collectives and 2 * last.last_arrivals > self.collectives else None


def compare_ranks(explanations: Sequence[TraceExplanation]) -> RankComparison:
    """Compare the ranks of one run; raise a `RequestError` if the traces cannot belong to one run."""
    numbered, by_order = _number_ranks(explanations)
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


def _number_ranks(explanations: Sequence[TraceExplanation]) -> tuple[list[tuple[int, TraceExplanation]], bool]:
    """The explanations by rank, and whether they had to be numbered by their order."""
    ranks = [explanation.source.rank for explanation in explanations]
    sizes = {explanation.source.world_size for explanation in explanations if explanation.source.world_size is not None}
    if len(sizes) > 1:
        several = " and ".join(map(str, sorted(sizes)))
        raise RequestError(f"The traces belong to different runs, of {several} ranks; give the ranks of one run only.")
    known = [rank for rank in ranks if rank is not None]
    if known and len(known) < len(ranks):
        unnamed = explanations[ranks.index(None)].source.path
        raise RequestError(f"{unnamed} does not name its rank, as the others do; give the ranks of one run only.")
    twice = next((rank for rank in known if known.count(rank) > 1), None)
    if twice is not None:
        raise RequestError(
            f"Two of the traces belong to rank {twice}; give one of each rank, or compare two runs with --against."
        )
    if not known:
        return list(enumerate(explanations)), True
    return sorted(
        ((rank, explanation) for rank, explanation in zip(known, explanations, strict=True)), key=lambda pair: pair[0]
    ), False


def _waits(explanations: Sequence[TraceExplanation]) -> tuple[list[int], list[int], int, int]:
    """How long each rank waited, how often it arrived last, and how many calls could be compared or not.

    A collective call ends for all ranks at once, so the rank with the shortest call arrived last, and each other rank
    waited as long as its call was longer. This does not need synchronized clocks.
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
