"""Sentences about a comparison: its results, its conditions, and how far times can be trusted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from diffprof.comparison.compare import Comparison, Pair
from diffprof.comparison.conditions import (
    DEFAULT,
    DEVICE,
    DTYPE,
    MEASUREMENT,
    REQUEST,
    VERSION,
    Condition,
    comparable,
    request_differences,
)
from diffprof.comparison.image_difference import ImageDifference
from diffprof.comparison.statistics import INTERVALS
from diffprof.comparison.times import (
    CALL,
    CPU_TIME,
    FASTER,
    LEAST_CPU_SHARE,
    NONE_SHOWN,
    SLOWER,
    TOO_BUSY,
    TOO_FEW,
    TimeChange,
    cpu_share,
)
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.warnings import profile_warnings

LONGEST = 60
"""Longer values, such as prompts, are cut."""

MAX_DEFAULTS = 5
"""How many defaults of the pipeline are shown with their values."""

_GROUPS = {
    REQUEST: "requested",
    DEFAULT: "default of",
    DTYPE: "dtype of",
    VERSION: "version of",
    DEVICE: "device:",
    MEASUREMENT: "measurement:",
}


def lead_lines(comparison: Comparison, brief: bool = False) -> list[str]:
    """The results in a few sentences: measured time and memory first, then counts.

    With `brief`, counts have three digits, for a page whose tables have the others.
    """
    if len(comparison.pairs) != 1:
        return [_range_of_costs(comparison, brief)]
    (pair,) = comparison.pairs
    return [*_time_lead(pair, comparison.names), *_memory_lead(pair, comparison.names), _count_lead(comparison, brief)]


def _time_lead(pair: Pair, names: Sequence[str]) -> list[str]:
    call = pair.times[0] if pair.times else None
    if call is None or call.before is None or call.after is None:
        return []
    before, after = names
    took = f"{numbers.nanoseconds(call.after.median_ns)} instead of {numbers.nanoseconds(call.before.median_ns)}"
    change = change_of_time(call)
    if call.verdict in (SLOWER, FASTER):
        return [f"Time: {after} is {call.verdict} than {before}: {took} ({change}, {interval_text(call)})."]
    if call.verdict == NONE_SHOWN:
        return [f"Time: no difference shown: {took} ({change}, {interval_text(call)})."]
    return [f"Time: {took} ({change}); no verdict: {call.verdict}."]


def _memory_lead(pair: Pair, names: Sequence[str]) -> list[str]:
    if pair.memory is None:
        return []
    peak, whose = pair.memory.peak, "of the device" if pair.memory.on_device else "of the process"
    sizes = f"{numbers.gigabytes(peak.after)} instead of {numbers.gigabytes(peak.before)}"
    change = numbers.change(peak.ratio) if peak.ratio is not None else "new"
    return [f"Memory: {sizes} at the peak {whose} ({change})."]


def _count_lead(comparison: Comparison, brief: bool) -> str:
    (name, other), (first, second) = comparison.names, (profile.total.macs for profile in comparison.profiles)
    if first == second:
        return f"Counts: {other} costs exactly as much as {name}: {numbers.macs(first, brief)} for one generation."
    ratio = f"{numbers.factor(second / first)} what {name} costs" if first else f"more than {name}"
    cost = f"{numbers.macs(second, brief)} instead of {numbers.macs(first, brief)}"
    return f"Counts: one generation with {other} costs {ratio}: {cost}."


def _range_of_costs(comparison: Comparison, brief: bool) -> str:
    costs = [(profile.total.macs, name) for profile, name in zip(comparison.profiles, comparison.names, strict=True)]
    (least, cheapest), (most, most_expensive) = min(costs), max(costs)
    times = f", {numbers.factor(most / least)} as much" if least else ""
    cost = f"{cheapest} costs least with {numbers.macs(least, brief)} a generation"
    return f"{cost}, {most_expensive} most with {numbers.macs(most, brief)}{times}."


def warning_lines(names: Sequence[str], profiles: Sequence[Profile]) -> list[str]:
    """The warnings of `diffprof profile` and `diffprof run`, for each profile."""
    return [
        f"Warning: {name}: {warning}."
        for name, profile in zip(names, profiles, strict=True)
        for warning in profile_warnings(profile)
    ]


def change_of_time(change: TimeChange) -> str:
    """``+12 %``; marked as uncertain if there are too few samples."""
    if change.before is None or change.after is None:
        return "-"
    if change.ratio is not None:
        return numbers.change(change.ratio.ratio)
    return f"{numbers.change(change.after.median_ns / change.before.median_ns)}, unsure"


def interval_text(change: TimeChange) -> str:
    """``-1.2 % to +3.4 %``"""
    if change.ratio is not None:
        return f"{numbers.change(change.ratio.low)} to {numbers.change(change.ratio.high)}"
    return "unknown" if change.before and change.after else "-"


def comparability(comparison: Comparison) -> list[str]:
    """Whether the profiles can be compared, and which conditions differ."""
    lines = _condition_lines(comparison.conditions)
    answer = comparable(comparison.profiles, comparison.conditions)
    if not lines and answer.counts:
        return ["Yes: request, dtypes, versions and device are the same."]
    if not answer.counts:
        differing = request_differences(comparison.conditions)
        names = ", ".join(condition.name for condition in differing) or "the size that is computed"
        first = f"No, the requests differ ({names}): changes below come from that, not from the code."
    elif answer.times is False:
        first = "The counts: yes. The times: no, they were measured on different devices."
    else:
        first = "Yes, it is the same work; what differs:"
    return [first, *lines]


def _condition_lines(conditions: Sequence[Condition]) -> list[str]:
    """A line for each condition; if many defaults differ, only their names."""
    defaults = [condition.name for condition in conditions if condition.group == DEFAULT]
    if len(defaults) <= MAX_DEFAULTS:
        return [condition_text(condition) for condition in conditions]
    others = [condition_text(condition) for condition in conditions if condition.group != DEFAULT]
    return [*others, f"defaults that differ: {', '.join(defaults)} (--json has the values)"]


def condition_text(condition: Condition) -> str:
    """``requested num_inference_steps: 30 / 20``"""
    values = [value_text(value) for value in condition.values]
    return f"{_GROUPS[condition.group]} {condition.name}: {' / '.join(values)}"


def value_text(value: Any) -> str:
    """A plain value on one line, cut if it is long."""
    text = "none" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def time_notes(pair: Pair, names: Sequence[str], profiles: Sequence[Profile]) -> list[str]:
    """Notes about how the times were compared, and what limits their significance."""
    if not pair.times:
        counted = [name for name, profile in zip(names, profiles, strict=True) if profile.measured is None]
        return [f"Counted but not measured, so there are no times to compare: {', '.join(counted)}."] if counted else []
    confidence = numbers.percent(INTERVALS[pair.times[0].in_turns])
    way = "pair by pair, as they were measured in turns" if pair.times[0].in_turns else "by their medians"
    lines = [f"Compared {way}; {confidence} confidence intervals, without warm-ups."]
    call = pair.times[0]
    if call.verdict == TOO_FEW and call.before and call.after:
        lines.append(
            f"{call.before.count} and {call.after.count} iterations are too few to tell a difference from noise; "
            "measure 5 or more of each, better 20 (`diffprof run MODEL --iterations 20`)."
        )
    if any(change.verdict == TOO_BUSY for change in pair.times):
        lines.append(f"{_cpu_shares(names, profiles)}; measure on a quieter machine, or both in turns.")
    return lines + [line for change in pair.times for line in _outliers(change, names)]


def _cpu_shares(names: Sequence[str], profiles: Sequence[Profile]) -> str:
    shares = {
        name: cpu_share(profile.measured) for name, profile in zip(names, profiles, strict=True) if profile.measured
    }
    low = [
        f"{name} had {numbers.percent(share)}" for name, share in shares.items() if share and share < LEAST_CPU_SHARE
    ]
    return f"Other processes used the CPU: {' and '.join(low)} of one core"


def _outliers(change: TimeChange, names: Sequence[str]) -> list[str]:
    """Outliers of the whole call; those of a section are usually the same iterations."""
    if change.name not in (CALL, CPU_TIME):
        return []
    return [
        f"Outlier: the {change.name} of iteration {outlier.iteration} of {name} is "
        f"{numbers.nanoseconds(outlier.time_ns)}, {numbers.factor(outlier.time_ns / side.median_ns)} the median."
        for name, side in zip(names, (change.before, change.after), strict=True)
        if side is not None
        for outlier in side.outliers
    ]


def describe_image_difference(difference: ImageDifference) -> str:
    """A sentence about the difference of two images."""
    if difference.note:
        result = difference.note
    elif difference.identical:
        result = "identical, pixel by pixel"
    else:
        psnr, ssim = difference.psnr_db or 0.0, difference.ssim or 0.0
        result = f"PSNR {numbers.decibels(psnr)}, SSIM {numbers.similarity(ssim)}"
    return f"{' and '.join(image_names(difference))}: {result}"


def image_names(difference: ImageDifference) -> tuple[str, str]:
    """The names of the two files, with as many of their folders as needed to distinguish them."""
    before, after = Path(difference.before).parts, Path(difference.after).parts
    for depth in range(1, max(len(before), len(after))):
        names = "/".join(before[-depth:]), "/".join(after[-depth:])
        if names[0] != names[1]:
            return names
    # The same file twice, or paths that are not longer than their names.
    return (before[-1], after[-1]) if before == after else (difference.before, difference.after)
