"""The sentences of a comparison: which conditions differ, and what the samples show."""

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
    device_differences,
    request_differences,
)
from diffprof.comparison.image_difference import ImageDifference
from diffprof.comparison.statistics import INTERVALS
from diffprof.comparison.times import CALL, CPU_TIME, LEAST_CPU_SHARE, TOO_BUSY, TOO_FEW, TimeChange, cpu_share
from diffprof.record.profile import Profile
from diffprof.render import numbers

LONGEST = 60
"""Characters of a value that are shown; a prompt can be a page long."""

_GROUPS = {
    REQUEST: "requested",
    DEFAULT: "default of",
    DTYPE: "dtype of",
    VERSION: "version of",
    DEVICE: "device:",
    MEASUREMENT: "measurement:",
}


def comparability(comparison: Comparison) -> list[str]:
    """Which conditions differ, and what that means for the numbers."""
    lines = [condition_text(condition) for condition in comparison.conditions]
    if not lines:
        lines = ["Nothing differs: request, dtypes, versions and device are the same."]
    if request_differences(comparison.conditions):
        lines.append("Not the same request: the counts differ because of the request, not only because of the code.")
    if device_differences(comparison.conditions):
        lines.append("Not the same device: the times compare the devices, not the code.")
    return lines


def condition_text(condition: Condition) -> str:
    """``requested num_inference_steps: 30 / 20``"""
    values = [value_text(value) for value in condition.values]
    return f"{_GROUPS[condition.group]} {condition.name}: {' / '.join(values)}"


def value_text(value: Any) -> str:
    """A plain value on one line, cut if it is long."""
    text = "none" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def time_notes(pair: Pair, names: Sequence[str], profiles: Sequence[Profile]) -> list[str]:
    """How the times were compared, and what limits their significance."""
    if not pair.times:
        counted = [name for name, profile in zip(names, profiles, strict=True) if profile.measured is None]
        return [f"Only counted, so there are no times to compare: {', '.join(counted)}."] if counted else []
    confidence = numbers.percent(INTERVALS[pair.times[0].in_turns])
    way = "pair by pair, as they were measured in turns" if pair.times[0].in_turns else "by their medians"
    lines = [f"Compared {way}; {confidence} confidence intervals, without warm-ups."]
    call = pair.times[0]
    if call.verdict == TOO_FEW and call.before and call.after:
        lines.append(
            f"{call.before.count} and {call.after.count} iterations are too few to tell a difference from noise; "
            "measure 20 or more of each (`diffprof run MODEL --iterations 20`)."
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
    return f"Other processes used the CPU meanwhile: {' and '.join(low)} of one core"


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
    """How far two images are apart."""
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
