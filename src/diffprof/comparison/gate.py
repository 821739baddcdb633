"""Check a profile against limits on its counts and times, relative to a baseline."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from diffprof.catalogue.accelerators import find_accelerator
from diffprof.catalogue.own_accelerators import known_accelerators
from diffprof.comparison.compare import Pair, compare_pair
from diffprof.comparison.conditions import device_differences, request_differences
from diffprof.comparison.counts import BYTES, COMPONENT_METRICS, METRICS, CountChange
from diffprof.comparison.times import CALL, CPU_TIME, SLOWER, STEP, TOO_BUSY, TOO_FEW, TimeChange
from diffprof.errors import RequestError
from diffprof.record.profile import Profile

PASSED, FAILED, TOO_NOISY = "passed", "failed", "too noisy to tell"
"""The outcomes of a limit."""

EXIT_CODES = {PASSED: 0, FAILED: 1, TOO_NOISY: 3}

COUNTED = "macs=+0%,parameters=+0%,peak_memory=+2%,calls=+0"
"""The default limits of counts."""

TIMED = "time=+5%,cpu_time=+5%"
"""The default limits of times: above most noise of a quiet machine, below most changes that matter."""

# Times other than those of sections.
TIMES = {"time": CALL, "cpu_time": CPU_TIME, "step_time": STEP}

PREDICTED_MEMORY, PREDICTED_TIME = "predicted_memory", "predicted_time"
PREDICTED = (PREDICTED_MEMORY, PREDICTED_TIME)
"""Predicted metrics; their accelerator is given in brackets: predicted_time[h100-sxm]."""

_LIMIT = re.compile(
    r"(?P<figure>[a-z_]+)(?:\[(?P<accelerator>[^\]=]+)\])?(?:\.(?P<part>[^=]+))?="
    r"(?P<amount>[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?P<unit>%|[A-Za-z]*)",
    re.I,
)
_UNITS = {
    "": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
}  # fmt: skip


@dataclass(frozen=True)
class GateLimit:
    """The maximum growth or the maximum value of a metric."""

    figure: str
    """The metric: one of `METRICS`, `TIMES` or `PREDICTED`."""
    part: str | None
    """A component for a count, a section for a time; None for the whole generation."""
    amount: float
    """A share of the baseline (0.05 is 5 %) if it is relative, else in the unit of the metric."""
    relative: bool
    ceiling: bool = False
    """Whether it limits the value itself instead of its growth."""
    accelerator: str | None = None
    """The accelerator of a predicted metric."""

    @property
    def name(self) -> str:
        if self.accelerator:
            return f"{self.figure}[{self.accelerator}]"
        return f"{self.figure}.{self.part}" if self.part else self.figure

    @property
    def is_time(self) -> bool:
        return self.figure in TIMES


@dataclass(frozen=True)
class GateCheck:
    """One limit and its outcome."""

    limit: GateLimit
    outcome: str
    figure: CountChange | None = None
    """The change of a count."""
    time: TimeChange | None = None
    """The change of a time."""


@dataclass(frozen=True)
class Gate:
    """All limits and their outcomes."""

    checks: tuple[GateCheck, ...]
    pair: Pair
    """The baseline and the candidate, compared."""

    @property
    def outcome(self) -> str:
        """The worst outcome of all limits."""
        outcomes = {check.outcome for check in self.checks}
        return next(outcome for outcome in (FAILED, TOO_NOISY, PASSED) if outcome in outcomes)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]


def gate_profiles(
    baseline: Profile, candidate: Profile, limits: str | None = None, allow_different: bool = False
) -> Gate:
    """Check a profile against its baseline; `limits` are written as for ``diffprof gate --max``."""
    parsed_limits = None if limits is None else parse_limits(limits)
    predicted = [limit.accelerator or "" for limit in parsed_limits or () if limit.figure in PREDICTED]
    return gate(compare_pair(baseline, candidate, predicted), parsed_limits, allow_different)


def gate(pair: Pair, limits: Sequence[GateLimit] | None = None, allow_different: bool = False) -> Gate:
    """Check a candidate against its baseline, by default with the limits of `COUNTED` and `TIMED`.

    Raise a `RequestError` if the two cannot be compared, or if a limit is on something that neither has.
    """
    limits = default_limits(pair) if limits is None else limits
    if not limits:
        raise RequestError("There is no limit to check; give one with --max.")
    if not allow_different:
        _refuse_different(pair, any(limit.is_time for limit in limits))
    return Gate(tuple(_check(limit, pair) for limit in limits), pair)


def _check(limit: GateLimit, pair: Pair) -> GateCheck:
    if limit.figure in PREDICTED:
        return _check_prediction(limit, pair)
    return _check_time(limit, pair) if limit.is_time else _check_count(limit, pair)


def default_limits(pair: Pair) -> tuple[GateLimit, ...]:
    """The limits of counts, and of the times that were measured in both."""
    measured = {change.name for change in pair.times if change.before and change.after}
    timed = [limit for limit in parse_limits(TIMED) if TIMES[limit.figure] in measured]
    return (*parse_limits(COUNTED), *timed)


def parse_limits(text: str) -> tuple[GateLimit, ...]:
    """Parse limits such as ``macs=+0%,peak_memory=+100MB,weights=24GB,time.vae_decode=+5%``.

    With a sign or in percent, a limit is on growth; an amount with a unit and no sign is a ceiling.
    """
    limits = tuple(_parse_limit(part.strip()) for part in text.split(",") if part.strip())
    names = [limit.name for limit in limits]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise RequestError(f"There are two limits for {twice}; leave one out.")
    return limits


def _parse_limit(text: str) -> GateLimit:
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise RequestError(f"Cannot read the limit {text!r}; write NAME=+NUMBER or NAME=+NUMBER%, such as macs=+0%.")
    figure, part, unit = match["figure"].lower(), match["part"], match["unit"].upper()
    _check_metric(figure)
    if figure in PREDICTED:
        return _parse_prediction(text, match)
    if match["accelerator"]:
        raise RequestError(f"{figure} is not predicted for an accelerator; leave out [{match['accelerator']}].")
    if part and figure not in COMPONENT_METRICS and figure != "time":
        raise RequestError(f"{figure} is a metric of the whole generation; limit it without .{part}.")
    if figure in TIMES and unit != "%":
        raise RequestError(f"The limit of {figure} must be in percent, such as {figure}=+5%, not {text!r}.")
    return _parse_amount(text, match, figure)


def _check_metric(figure: str) -> None:
    known = (*METRICS, *TIMES, *PREDICTED)
    if figure not in known:
        near = difflib.get_close_matches(figure, known, n=1, cutoff=0.75)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}."
        raise RequestError(f"There is no metric {figure} to limit; {hint}")


def _parse_amount(text: str, match: re.Match[str], figure: str) -> GateLimit:
    """Parse a limit in percent or with a unit; with a sign it limits growth, else the value."""
    part, unit = match["part"], match["unit"].upper()
    amount = float(match["amount"])
    if not math.isfinite(amount):
        raise RequestError(f"The limit {text!r} is not a finite number.")
    if unit == "%":
        return GateLimit(figure, part, amount / 100, relative=True)
    if unit not in _UNITS or (unit.endswith("B") and figure not in BYTES):
        raise RequestError(f"The limit {text!r} has a unit that {figure} does not have.")
    is_signed = match["amount"].startswith(("+", "-"))
    if not unit and not is_signed:
        name, number = text.split("=")
        raise RequestError(f"The limit {text!r} can mean two things: write {name}=+{number}% or {name}=+{number}.")
    return GateLimit(figure, part, amount * _UNITS[unit], relative=False, ceiling=not is_signed)


def _parse_prediction(text: str, match: re.Match[str]) -> GateLimit:
    """Parse a limit of a predicted metric: growth in percent, or a maximum in GB or seconds."""
    figure, unit, amount = match["figure"].lower(), match["unit"].upper(), float(match["amount"])
    accelerator = find_accelerator(match["accelerator"], known_accelerators()).name if match["accelerator"] else None
    if figure == PREDICTED_TIME and accelerator is None:
        raise RequestError("A predicted time is that of an accelerator: write predicted_time[h100-sxm]=+5%.")
    if match["part"]:
        raise RequestError(f"{figure} is a metric of the whole generation; limit it without .{match['part']}.")
    if unit == "%":
        return GateLimit(figure, None, amount / 100, relative=True, accelerator=accelerator)
    # GB means GiB here, so that 24GB is the memory of a card sold with 24 GB.
    units = {"S": NANOSECONDS} if figure == PREDICTED_TIME else SOLD_AS
    if unit not in units:
        example = "10s" if figure == PREDICTED_TIME else "24GB"
        raise RequestError(f"The limit {text!r} must be in percent or an amount, such as {figure}=+5% or ={example}.")
    is_signed = match["amount"].startswith(("+", "-"))
    return GateLimit(figure, None, amount * units[unit], False, not is_signed, accelerator)


NANOSECONDS = 1e9
SOLD_AS = {"MB": 2**20, "GB": 2**30, "TB": 2**40, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def _refuse_different(pair: Pair, timed: bool) -> None:
    differing = [*request_differences(pair.conditions), *(device_differences(pair.conditions) if timed else ())]
    if differing:
        first = differing[0]
        what = f"{first.name} of the device" if first.group == "device" else first.name
        more = f" (and {len(differing) - 1} more)" if len(differing) > 1 else ""
        raise RequestError(
            f"The baseline is from another {first.group}: {what} is {first.values[0]!r} there and {first.values[1]!r} "
            f"here{more}; make it again, or compare them anyway with --allow-different."
        )


def _check_prediction(limit: GateLimit, pair: Pair) -> GateCheck:
    change = next(one for one in pair.predictions if one.accelerator == (limit.accelerator or ""))
    sides = []
    for side in (change.before, change.after):
        if limit.figure == PREDICTED_TIME:
            assert side.total_seconds is not None, "an accelerator has a time"
            sides.append(round(side.total_seconds * NANOSECONDS))
        elif side.device_bytes is None:
            raise RequestError(
                f"There is no {limit.name} to limit: one of the profiles was saved by an earlier version, without its "
                "allocations; count the model again."
            )
        else:
            sides.append(side.device_bytes)
    return _compare_figure(limit, CountChange(limit.figure, *sides))


def _check_count(limit: GateLimit, pair: Pair) -> GateCheck:
    figures = {figure.name: figure for figure in pair.totals}
    for whose, calls in (("baseline", figures["calls"].before), ("candidate", figures["calls"].after)):
        if not calls:
            # Without this check, a run that was not counted would pass with 0.
            raise RequestError(f"There is no {limit.name} to limit: the calls of the {whose} were not counted.")
    if limit.part is not None:
        components = {change.component: change.figures for change in pair.components}
        if limit.part not in components:
            known = ", ".join(components)
            raise RequestError(f"There is no component {limit.part} to limit the {limit.figure} of; there are {known}.")
        figures = {figure.name: figure for figure in components[limit.part]}
    return _compare_figure(limit, figures[limit.figure])


def _compare_figure(limit: GateLimit, figure: CountChange) -> GateCheck:
    growth = figure.before * limit.amount if limit.relative else limit.amount
    is_exceeded = figure.after > limit.amount if limit.ceiling else figure.difference > growth
    return GateCheck(limit, FAILED if is_exceeded else PASSED, figure=figure)


def _check_time(limit: GateLimit, pair: Pair) -> GateCheck:
    name = limit.part or TIMES[limit.figure]
    if not pair.times:
        raise RequestError(f"There is no {limit.name} to limit: one of the two was only counted, not measured.")
    change = next((time for time in pair.times if time.name == name), None)
    if change is None or change.before is None or change.after is None:
        known = ", ".join(
            time.name for time in pair.times if time.name not in TIMES.values() and time.before and time.after
        )
        there = f"the sections in both are {known}" if limit.part else "it was not measured in both"
        raise RequestError(f"There is no {limit.name} to limit; {there}.")
    return GateCheck(limit, _outcome(change, 1 + limit.amount), time=change)


def _outcome(change: TimeChange, most: float) -> str:
    """Passed or failed only if the whole confidence interval is on one side of the limit."""
    if change.ratio is None or change.verdict in (TOO_FEW, TOO_BUSY):
        return TOO_NOISY
    if change.ratio.low > most and (most < 1 or change.verdict == SLOWER):
        return FAILED
    return PASSED if change.ratio.high <= most else TOO_NOISY
