"""Why a device was idle: each gap laid to what the host, another stream or the queue did in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from diffprof.traces.analysis.host import NOTHING, HostTree, readable
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

# The record has the longest gaps one by one; the causes have all.
MOST_GAPS = 10_000
MOST_CAUSES = 1_000
OTHERS = "others"
# For how many causes the host's calls are looked into, and for how many gaps of each.
MOST_LOOKED_INTO = 40

_CODES = {cause: number for number, cause in enumerate(CAUSES)}


@dataclass(frozen=True)
class IdleTime:
    """The idle time of one device: by cause, and the longest gaps."""

    causes: tuple[IdleCause, ...]
    gaps: tuple[Gap, ...]


def idle_time(
    trace: RecordedTrace, work: DeviceWork, tree: HostTree, launches: Launches, threshold_ns: int
) -> IdleTime:
    """All gaps of a device: those of `threshold_ns` and more each laid to its cause, the shorter ones together."""
    all_gaps = work.busy.gaps()
    lengths = all_gaps.end - all_gaps.start
    long = lengths >= threshold_ns
    explained = _GapAnalysis(trace, work, tree, launches, all_gaps.start[long], all_gaps.end[long])
    causes = explained.causes()
    if (~long).any():
        short = lengths[~long]
        causes.append(IdleCause(work.device, SHORT, "", "", len(short), int(short.sum()), int(short.max())))
    return IdleTime(tuple(sorted(causes, key=lambda row: -row.idle_ns)), explained.gaps())


class _GapAnalysis:
    """The gaps of one device from `start` to `end`, each with its cause."""

    def __init__(
        self, trace: RecordedTrace, work: DeviceWork, tree: HostTree, launches: Launches, start: Ints, end: Ints
    ) -> None:
        self.trace, self.work, self.tree, self.launches = trace, work, tree, launches
        self.start, self.end = start, end
        self.after = work.rows[np.searchsorted(trace.gpu.start[work.rows], end)]
        self.before = self._before()
        self.call = launches.call[self.after]
        self.lane = values_at(trace.host.lane, self.call, UNKNOWN)
        self.launched = values_at(trace.host.start, self.call, end)
        self.wait = self._wait()

    @cached_property
    def cause(self) -> Ints:
        """The code of each gap's cause: the first that holds."""
        late = 2 * (self.launched - self.start) >= self.end - self.start
        under_way = values_at(self.trace.host.end, self.call, self.start) > self.start
        gpu = self.trace.gpu
        handed_over = gpu.stream[self.before] != gpu.stream[self.after]
        handed_over |= gpu.kind[self.before] == MEMCPY
        conditions = [self.call == UNKNOWN, self.wait != NOTHING, late, under_way, handed_over]
        codes = [_CODES[cause] for cause in (UNEXPLAINED, SYNCHRONISATION, HOST, LAUNCH, STREAM)]
        return np.select(conditions, codes, _CODES[QUEUE])

    @cached_property
    def row(self) -> Ints:
        """The row of the host that each gap is laid to."""
        window_end = np.maximum(self.launched, self.start + 1)
        late = self.cause == _CODES[HOST]
        row = np.full(len(self.start), NOTHING, dtype=np.int64)
        row[late] = self.tree.covering(self.lane[late], self.start[late], window_end[late])
        row = np.where(self.cause == _CODES[SYNCHRONISATION], self.wait, row)
        return np.where(self.cause == _CODES[LAUNCH], self.call, row)

    @cached_property
    def keys(self) -> Ints:
        """For each gap: cause, name of what it is laid to, its operator, the Python function around, what was before.

        Names by their number; `UNKNOWN` where there is none.
        """
        waited = np.where(self.cause == _CODES[SYNCHRONISATION], self.row, NOTHING)
        handed_over = self.cause == _CODES[STREAM]
        columns = [
            self.cause,
            self._name(self.row),
            self._name(self.tree.outermost_op(waited)),
            self._name(self.tree.python_function(self.row)),
            np.where(handed_over, self.trace.gpu.name[self.before], UNKNOWN),
        ]
        return np.stack(columns, axis=1)

    def causes(self) -> list[IdleCause]:
        """The gaps with one cause together, those that cost most first; the many that cost least in one row each."""
        if not len(self.start):
            return []
        keys, group = np.unique(self.keys, axis=0, return_inverse=True)
        words = [self._words(key) for key in keys.tolist()]
        # Names that differ by an address only are one.
        numbers = {said: number for number, said in enumerate(dict.fromkeys(words))}
        group = np.array([numbers[said] for said in words])[group.reshape(-1)]
        length = self.end - self.start
        count = np.bincount(group, minlength=len(numbers))
        idle, longest = np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=np.int64)
        np.add.at(idle, group, length)
        np.maximum.at(longest, group, length)
        rows = [
            IdleCause(self.work.device, *said, int(count[number]), int(idle[number]), int(longest[number]))
            for said, number in numbers.items()
        ]
        order = np.argsort(-idle, kind="stable").tolist()
        looked_into = [
            self._with_calls(rows[number], np.flatnonzero(group == number)) for number in order[:MOST_LOOKED_INTO]
        ]
        kept = [rows[number] for number in order[MOST_LOOKED_INTO:MOST_CAUSES]]
        return looked_into + kept + _together([rows[number] for number in order[MOST_CAUSES:]])

    def gaps(self) -> tuple[Gap, ...]:
        """The longest gaps, in the order of time."""
        origin = self.trace.start_and_end()[0]
        longest = np.argsort(self.start - self.end, kind="stable")[:MOST_GAPS]
        names = self.trace.names
        return tuple(
            Gap(
                self.work.device,
                int(self.start[at]) - origin,
                int(self.end[at] - self.start[at]),
                *self._words(self.keys[at].tolist()),
                before=names[self.trace.gpu.name[self.before[at]]],
                after=names[self.trace.gpu.name[self.after[at]]],
            )
            for at in np.sort(longest)
        )

    def _before(self) -> Ints:
        """The row of `trace.gpu` that ended where each gap begins."""
        ends = self.trace.gpu.end[self.work.rows]
        order = np.argsort(ends, kind="stable")
        return self.work.rows[order[np.searchsorted(ends[order], self.start, side="right") - 1]]

    def _wait(self) -> Ints:
        """The last call in which the host waited, if nothing was launched between its beginning and the gap."""
        host, launches = self.trace.host, self.launches
        found = np.full(len(self.start), NOTHING, dtype=np.int64)
        for lane in np.unique(self.lane[self.lane != UNKNOWN]):
            here = np.flatnonzero(self.lane == lane)
            waits = launches.waits[host.lane[launches.waits] == lane]
            works = launches.launching[host.lane[launches.launching] == lane]
            wait = _last_before(host.start[waits], self.start[here])
            launch = _last_before(host.start[works], self.start[here])
            has_wait = wait != NOTHING
            row = waits[wait[has_wait]]
            # A copy that waits is both: it put itself into the queue.
            nothing_since = (launch[has_wait] == NOTHING) | (host.start[works][launch[has_wait]] <= host.start[row])
            found[here[has_wait]] = np.where(nothing_since, row, NOTHING)
        return found

    def _name(self, rows: Ints) -> Ints:
        return values_at(self.trace.host.name, rows, UNKNOWN)

    def _words(self, key: list[int]) -> tuple[str, str, str]:
        """A key as cause, what and where."""
        cause, what, op, where, before = (
            CAUSES[key[0]],
            *("" if number == UNKNOWN else readable(self.trace.names[number]) for number in key[1:]),
        )
        if cause == SYNCHRONISATION and op:
            what = f"{what} in {op}"
        return cause, what or before, where

    def _with_calls(self, row: IdleCause, chosen: Ints) -> IdleCause:
        """What the host called for most of the time in the longest of the gaps, where it could not keep up."""
        if row.cause != HOST:
            return row
        host = self.trace.host
        times: dict[str, int] = {}
        longest = chosen[np.argsort(self.start[chosen] - self.end[chosen], kind="stable")]
        looked_at = longest[self.row[longest] != NOTHING][:MOST_LOOKED_INTO]
        for at in looked_at:
            begin, end = self.start[at], self.launched[at]
            for called in self.tree.calls(self.row[at], begin, end):
                inside = int(min(host.end[called], end) - max(host.start[called], begin))
                name = self.tree.label(called)
                times[name] = times.get(name, 0) + inside
        if not times:
            return row
        late = int((self.launched[looked_at] - self.start[looked_at]).sum())
        mostly = max(times, key=times.__getitem__)
        return replace(row, mostly=mostly, mostly_share=times[mostly] / late)


def _together(rows: list[IdleCause]) -> list[IdleCause]:
    """One row for all of a cause."""
    found: dict[str, IdleCause] = {}
    for row in rows:
        sum_up = found.get(row.cause, replace(row, what=OTHERS, where="", gaps=0, idle_ns=0, longest_ns=0))
        found[row.cause] = replace(
            sum_up,
            gaps=sum_up.gaps + row.gaps,
            idle_ns=sum_up.idle_ns + row.idle_ns,
            longest_ns=max(sum_up.longest_ns, row.longest_ns),
        )
    return list(found.values())


def _last_before(times: Ints, moments: Ints) -> Ints:
    """The place of the last of the rising `times` that is before each moment; `NOTHING` where there is none."""
    return np.searchsorted(times, moments, side="left") - 1
