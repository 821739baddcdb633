"""The calls of each host thread as a tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

import numpy as np

from diffprof.traces.reading.columns import OP, PYTHON, UNKNOWN, Flags, Ints, RecordedTrace, values_at

NOTHING = UNKNOWN
_CHUNK = 1 << 16

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_BUILT_IN = re.compile(r"^<built-in (?:method|function) (\S*?)(?: of (?:type )?(.+?))?>$")
_INTERNAL = re.compile(r"(^|/)(torch/|contextlib\.py|functools\.py|threading\.py|runpy)")


class HostTree:
    """The rows of `trace.host`, each with the row that called it."""

    def __init__(self, trace: RecordedTrace) -> None:
        self.host = trace.host
        self._names = trace.names
        self._first = np.searchsorted(self.host.lane, np.arange(len(trace.lanes) + 1))

    @cached_property
    def parent(self) -> Ints:
        """The row that called each row, on the same thread; `NOTHING` for the outermost."""
        parents: list[Ints] = []
        stack: list[tuple[int, int]] = []
        lane_before = UNKNOWN
        for begin in range(0, len(self.host), _CHUNK):
            # In chunks, because Python objects for all numbers would take ten times the memory.
            chunk = slice(begin, begin + _CHUNK)
            starts, ends = self.host.start[chunk].tolist(), self.host.end[chunk].tolist()
            chunk_parents = []
            lanes = self.host.lane[chunk].tolist()
            for row, (start, end, lane) in enumerate(zip(starts, ends, lanes, strict=True), begin):
                if lane != lane_before:
                    stack, lane_before = [], lane
                while stack and stack[-1][0] <= start:
                    stack.pop()
                chunk_parents.append(stack[-1][1] if stack else NOTHING)
                stack.append((end, row))
            parents.append(np.array(chunk_parents, dtype=np.int64))
        return np.concatenate(parents) if parents else np.empty(0, dtype=np.int64)

    def innermost(self, lane: Ints, time: Ints) -> Ints:
        """The innermost row that was running on each thread at each time."""
        row = np.full(len(time), NOTHING, dtype=np.int64)
        for number in np.unique(lane):
            here = lane == number
            first, end = self._first[number], self._first[number + 1]
            place = first + np.searchsorted(self.host.start[first:end], time[here], side="right") - 1
            row[here] = np.where(place >= first, place, NOTHING)
        return self.climb(row, lambda rows, which: self.host.end[rows] > time[which])

    def innermost_covering(self, lane: Ints, start: Ints, end: Ints) -> Ints:
        """The innermost row that ran for at least half of each interval."""
        # A row that covers more than half of an interval covers its middle, so all candidates call each other.
        row = self.innermost(lane, (start + end) // 2)

        def covers_half(rows: Ints, which: Ints) -> Flags:
            overlap = np.minimum(self.host.end[rows], end[which]) - np.maximum(self.host.start[rows], start[which])
            return 2 * overlap >= end[which] - start[which]

        return self.climb(row, covers_half)

    def climb(self, rows: Ints, matches: Callable[[Ints, Ints], Flags]) -> Ints:
        """Go from each row to its caller until `matches(rows, their indices)` is true or there is no caller left."""
        rows = rows.copy()
        remaining = np.flatnonzero(rows != NOTHING)
        while len(remaining):
            unmatched = remaining[~matches(rows[remaining], remaining)]
            rows[unmatched] = self.parent[rows[unmatched]]
            remaining = unmatched[rows[unmatched] != NOTHING]
        return rows

    def nearest(self, rows: Ints, kind: int) -> Ints:
        """Each row itself, or its nearest caller of the kind."""
        return self.climb(rows, lambda rows, _: self.host.kind[rows] == kind)

    def calls(self, caller: int, start: int, end: int) -> Ints:
        """The rows that a row called and that ran between two times."""
        last = self._first[self.host.lane[caller] + 1]
        until = caller + np.searchsorted(self.host.start[caller:last], end)
        rows = np.arange(caller + 1, until)
        return rows[(self.parent[rows] == caller) & (self.host.end[rows] > start)]

    def common_caller(self, one: int, other: int) -> int:
        """The innermost row that both were called from; `NOTHING` if there is none."""
        callers = set()
        while one != NOTHING:
            one = int(self.parent[one])
            callers.add(one)
        while other not in callers:
            other = int(self.parent[other])
            if other == NOTHING:
                break
        return other

    def rows_between(self, lane: int, start: int, end: int) -> tuple[int, int]:
        """The first row of a thread that begins at `start` or later, and the first that begins at `end` or later."""
        first, last = self._first[lane], self._first[lane + 1]
        places = first + np.searchsorted(self.host.start[first:last], (start, end))
        return int(places[0]), int(places[1])

    def label(self, row: int) -> str:
        """The readable name of a row."""
        return readable_name(self._names[self.host.name[row]])

    def python_function(self, rows: Ints) -> Ints:
        """The nearest caller of each row that is a Python function, but not one of torch itself."""
        callers = values_at(self.parent, rows, NOTHING)
        return self.climb(callers, lambda rows, _: self._is_function[self.host.name[rows]])

    def outermost_op(self, rows: Ints) -> Ints:
        """The outermost of the operators that each row runs in; `NOTHING` if there is none."""
        rows = self.nearest(rows, OP)

        def is_outermost(rows: Ints, _: Ints) -> Flags:
            caller = self.parent[rows]
            return (caller == NOTHING) | (self.host.kind[caller] != OP)

        return self.climb(rows, is_outermost)

    @cached_property
    def _is_function(self) -> Flags:
        """Which names are Python functions worth showing."""
        flags = np.zeros(len(self._names), dtype=bool)
        for number in np.unique(self.host.name[self.host.kind == PYTHON]):
            name = self._names[number]
            flags[number] = not name.startswith(("<", "nn.Module")) and not _INTERNAL.search(name)
        return flags


def readable_name(name: str) -> str:
    """A recorded name without addresses, which differ in every run, and without a prefix."""
    name = _ADDRESS.sub("", name)
    built_in = _BUILT_IN.match(name)
    if built_in:
        # Functions of extensions may have no name; then the owner is useless, too.
        owner = (built_in[2] or "").removesuffix(" object")
        if not built_in[1]:
            return "a built-in function"
        return f"{owner}.{built_in[1]}" if owner else built_in[1]
    return name.removeprefix("nn.Module: ")
