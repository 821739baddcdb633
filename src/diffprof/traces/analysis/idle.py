"""Attribute each gap of a device to its cause: the host, another stream or the queue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from diffprof.traces.analysis.host import NOTHING, HostTree, readable_name
from diffprof.traces.analysis.launches import Launches
from diffprof.traces.analysis.timeline import DeviceWork
from diffprof.traces.facts import (
    CAUSES,
    HOST,
    LAUNCH,
    QUEUE,
    SHORT,
    STREAM,
    SYNCHRONISATION,
    UNEXPLAINED,
    Gap,
    IdleCause,
)
from diffprof.traces.reading.columns import MEMCPY, UNKNOWN, Ints, RecordedTrace, values_at

# The longest gaps are listed one by one; the causes cover all.
MAX_GAPS = 10_000
MAX_CAUSES = 1_000
OTHERS = "others"
# For how many causes, and how many gaps of each, the callees of the host are searched.
MAX_SEARCHED = 40

_CODES = {cause: number for number, cause in enumerate(CAUSES)}


@dataclass(frozen=True)
class IdleTime:
    """The idle time of one device by cause, and its longest gaps."""

    causes: tuple[IdleCause, ...]
    gaps: tuple[Gap, ...]


def idle_time(
    trace: RecordedTrace, work: DeviceWork, tree: HostTree, launches: Launches, threshold_ns: int
) -> IdleTime:
    """All gaps of a device: those of at least `threshold_ns` by cause, the shorter ones summed up."""
    all_gaps = work.busy.gaps()
    lengths = all_gaps.end - all_gaps.start
    long = lengths >= threshold_ns
    analysis = _GapAnalysis(trace, work, tree, launches, all_gaps.start[long], all_gaps.end[long])
    causes = analysis.causes()
    if (~long).any():
        short = lengths[~long]
        causes.append(IdleCause(work.device, SHORT, "", "", len(short), int(short.sum()), int(short.max())))
    return IdleTime(tuple(sorted(causes, key=lambda row: -row.idle_ns)), analysis.gaps())


class _GapAnalysis:
    """The gaps of one device from `start` to `end`, each with its cause."""

    def __init__(
        self, trace: RecordedTrace, work: DeviceWork, tree: HostTree, launches: Launches, start: Ints, end: Ints
    ) -> None:
        self.trace, self.work, self.tree, self.launches = trace, work, tree, launches
        self.start, self.end = start, end
        self.after = work.rows[np.searchsorted(trace.gpu.start[work.rows], end)]
        self.before = self._row_before()
        self.call = launches.call[self.after]
        self.lane = values_at(trace.host.lane, self.call, UNKNOWN)
        self.launched = values_at(trace.host.start, self.call, end)
        self.wait = self._wait()

    @cached_property
    def cause(self) -> Ints:
        """The code of the first cause that applies to each gap."""
        late = 2 * (self.launched - self.start) >= self.end - self.start
        launching = values_at(self.trace.host.end, self.call, self.start) > self.start
        gpu = self.trace.gpu
        switched = gpu.stream[self.before] != gpu.stream[self.after]
        switched |= gpu.kind[self.before] == MEMCPY
        conditions = [self.call == UNKNOWN, self.wait != NOTHING, late, launching, switched]
        codes = [_CODES[cause] for cause in (UNEXPLAINED, SYNCHRONISATION, HOST, LAUNCH, STREAM)]
        return np.select(conditions, codes, _CODES[QUEUE])

    @cached_property
    def row(self) -> Ints:
        """The row of `trace.host` that caused each gap."""
        window_end = np.maximum(self.launched, self.start + 1)
        late = self.cause == _CODES[HOST]
        row = np.full(len(self.start), NOTHING, dtype=np.int64)
        row[late] = self.tree.innermost_covering(self.lane[late], self.start[late], window_end[late])
        row = np.where(self.cause == _CODES[SYNCHRONISATION], self.wait, row)
        return np.where(self.cause == _CODES[LAUNCH], self.call, row)

    @cached_property
    def keys(self) -> Ints:
        """For each gap: its cause, and the numbers of four names: of what caused it, of its operator, of the Python
        function that called it, and of the work before it. `UNKNOWN` for none.
        """
        waits = np.where(self.cause == _CODES[SYNCHRONISATION], self.row, NOTHING)
        switched = self.cause == _CODES[STREAM]
        columns = [
            self.cause,
            self._name(self.row),
            self._name(self.tree.outermost_op(waits)),
            self._name(self.tree.python_function(self.row)),
            np.where(switched, self.trace.gpu.name[self.before], UNKNOWN),
        ]
        return np.stack(columns, axis=1)

    def causes(self) -> list[IdleCause]:
        """The gaps by cause, the most expensive first; many cheap causes are summed up."""
        if not len(self.start):
            return []
        keys, group = np.unique(self.keys, axis=0, return_inverse=True)
        descriptions = [self._describe(key) for key in keys.tolist()]
        # Names that differ only by an address are the same.
        numbers = {description: number for number, description in enumerate(dict.fromkeys(descriptions))}
        group = np.array([numbers[description] for description in descriptions])[group.reshape(-1)]
        length = self.end - self.start
        count = np.bincount(group, minlength=len(numbers))
        idle, longest = np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=np.int64)
        np.add.at(idle, group, length)
        np.maximum.at(longest, group, length)
        rows = [
            IdleCause(self.work.device, *description, int(count[number]), int(idle[number]), int(longest[number]))
            for description, number in numbers.items()
        ]
        order = np.argsort(-idle, kind="stable").tolist()
        searched = [
            self._with_main_callee(rows[number], np.flatnonzero(group == number)) for number in order[:MAX_SEARCHED]
        ]
        others = [rows[number] for number in order[MAX_SEARCHED:MAX_CAUSES]]
        return searched + others + _sum_by_cause([rows[number] for number in order[MAX_CAUSES:]])

    def gaps(self) -> tuple[Gap, ...]:
        """The longest gaps, in the order of time."""
        origin = self.trace.start_and_end()[0]
        longest = np.argsort(self.start - self.end, kind="stable")[:MAX_GAPS]
        names = self.trace.names
        return tuple(
            Gap(
                self.work.device,
                int(self.start[at]) - origin,
                int(self.end[at] - self.start[at]),
                *self._describe(self.keys[at].tolist()),
                before=names[self.trace.gpu.name[self.before[at]]],
                after=names[self.trace.gpu.name[self.after[at]]],
            )
            for at in np.sort(longest)
        )

    def _row_before(self) -> Ints:
        """The row of `trace.gpu` that ended where each gap begins."""
        ends = self.trace.gpu.end[self.work.rows]
        order = np.argsort(ends, kind="stable")
        return self.work.rows[order[np.searchsorted(ends[order], self.start, side="right") - 1]]

    def _wait(self) -> Ints:
        """The last call in which the host waited, if nothing was launched between its start and the gap."""
        host, launches = self.trace.host, self.launches
        last_waits = np.full(len(self.start), NOTHING, dtype=np.int64)
        for lane in np.unique(self.lane[self.lane != UNKNOWN]):
            here = np.flatnonzero(self.lane == lane)
            waits = launches.waits[host.lane[launches.waits] == lane]
            launching = launches.launching[host.lane[launches.launching] == lane]
            wait = _last_before(host.start[waits], self.start[here])
            launch = _last_before(host.start[launching], self.start[here])
            has_wait = wait != NOTHING
            row = waits[wait[has_wait]]
            # A blocking copy is both a wait and a launch.
            nothing_since = (launch[has_wait] == NOTHING) | (host.start[launching][launch[has_wait]] <= host.start[row])
            last_waits[here[has_wait]] = np.where(nothing_since, row, NOTHING)
        return last_waits

    def _name(self, rows: Ints) -> Ints:
        return values_at(self.trace.host.name, rows, UNKNOWN)

    def _describe(self, key: list[int]) -> tuple[str, str, str]:
        """The cause, the what and the where of a key."""
        cause, what, op, where, before = (
            CAUSES[key[0]],
            *("" if number == UNKNOWN else readable_name(self.trace.names[number]) for number in key[1:]),
        )
        if cause == SYNCHRONISATION and op:
            what = f"{what} in {op}"
        return cause, what or before, where

    def _with_main_callee(self, row: IdleCause, chosen: Ints) -> IdleCause:
        """Add the callee in which the host spent most of the longest gaps, if it could not keep up."""
        if row.cause != HOST:
            return row
        host = self.trace.host
        times: dict[str, int] = {}
        longest = chosen[np.argsort(self.start[chosen] - self.end[chosen], kind="stable")]
        longest_gaps = longest[self.row[longest] != NOTHING][:MAX_SEARCHED]
        for at in longest_gaps:
            begin, end = self.start[at], self.launched[at]
            for called in self.tree.calls(self.row[at], begin, end):
                inside = int(min(host.end[called], end) - max(host.start[called], begin))
                name = self.tree.label(called)
                times[name] = times.get(name, 0) + inside
        if not times:
            return row
        late = int((self.launched[longest_gaps] - self.start[longest_gaps]).sum())
        mostly = max(times, key=times.__getitem__)
        return replace(row, mostly=mostly, mostly_share=times[mostly] / late)


def _sum_by_cause(rows: list[IdleCause]) -> list[IdleCause]:
    """One row for each cause."""
    sums: dict[str, IdleCause] = {}
    for row in rows:
        total = sums.get(row.cause, replace(row, what=OTHERS, where="", gaps=0, idle_ns=0, longest_ns=0))
        sums[row.cause] = replace(
            total,
            gaps=total.gaps + row.gaps,
            idle_ns=total.idle_ns + row.idle_ns,
            longest_ns=max(total.longest_ns, row.longest_ns),
        )
    return list(sums.values())


def _last_before(times: Ints, moments: Ints) -> Ints:
    """The index of the last of the sorted `times` before each moment; `NOTHING` if there is none."""
    return np.searchsorted(times, moments, side="left") - 1
