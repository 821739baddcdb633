"""The sentences of a comparison: what differs before any number, and what the samples can tell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from diffprof.comparison import Comparison, Pair
from diffprof.comparison.conditions import (
    DEFAULT,
    DEVICE,
    DTYPE,
    MEASUREMENT,
    REQUEST,
    VERSION,
    Condition,
    other_device,
    other_request,
)
from diffprof.comparison.picture_difference import PictureDifference
from diffprof.comparison.statistics import INTERVALS
from diffprof.comparison.times import CALL, CPU_TIME, OWN_CPU, TOO_BUSY, TOO_FEW, TimeChange, cpu_share
from diffprof.record.profile import Profile
from diffprof.render import numbers

LONGEST = 60
"""Letters of a value that are shown; a prompt can be a page."""

_GROUPS = {
    REQUEST: "asked",
    DEFAULT: "default of",
    DTYPE: "dtype of",
    VERSION: "version of",
    DEVICE: "device:",
    MEASUREMENT: "measurement:",
}


def may_be_compared(comparison: Comparison) -> list[str]:
    """What differs, and what that means for the figures below."""
    lines = [condition_text(condition) for condition in comparison.conditions]
    if not lines:
        lines = ["Nothing differs: request, dtypes, versions and device are the same."]
    if other_request(comparison.conditions):
        lines.append("Not the same request: the counts differ by what was asked for, not only by the code.")
    if other_device(comparison.conditions):
        lines.append("Not the same device: the times tell the devices apart, not the code.")
    return lines


def condition_text(condition: Condition) -> str:
    """``asked num_inference_steps: 30 / 20``"""
    values = [value_text(value) for value in condition.values]
    return f"{_GROUPS[condition.group]} {condition.name}: {' / '.join(values)}"


def value_text(value: Any) -> str:
    """A plain value on one line, and not too long."""
    text = "none" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def about_times(pair: Pair, names: Sequence[str], profiles: Sequence[Profile]) -> list[str]:
    """How the times were compared, and what keeps them from telling more."""
    if not pair.times:
        only = [name for name, profile in zip(names, profiles, strict=True) if profile.measured is None]
        return [f"Only counted, so there are no times to compare: {', '.join(only)}."] if only else []
    confidence = numbers.percent(INTERVALS[pair.times[0].in_turns])
    way = "pair by pair, as they were measured in turns" if pair.times[0].in_turns else "by their medians"
    lines = [f"Compared {way}; intervals hold with {confidence} confidence, warm-ups are not in them."]
    call = pair.times[0]
    if call.verdict == TOO_FEW and call.before and call.after:
        lines.append(
            f"{call.before.count} and {call.after.count} iterations are too few to tell a difference from noise; "
            "measure 20 or more of each (`diffprof run MODEL --iterations 20`)."
        )
    if any(change.verdict == TOO_BUSY for change in pair.times):
        lines.append(f"{_busy(names, profiles)}; measure on a quieter machine, or both in turns.")
    return lines + [line for change in pair.times for line in _outliers(change, names)]


def _busy(names: Sequence[str], profiles: Sequence[Profile]) -> str:
    shares = {
        name: cpu_share(profile.measured) for name, profile in zip(names, profiles, strict=True) if profile.measured
    }
    found = [f"{name} had {numbers.percent(share)}" for name, share in shares.items() if share and share < OWN_CPU]
    return f"Others had the CPU for part of the time: of one core {' and '.join(found)}"


def _outliers(change: TimeChange, names: Sequence[str]) -> list[str]:
    """Of the whole call; a section's are those of its call as a rule."""
    if change.name not in (CALL, CPU_TIME):
        return []
    return [
        f"Outlier: the {change.name} of iteration {one.iteration} of {name} is {numbers.nanoseconds(one.time_ns)}, "
        f"{numbers.factor(one.time_ns / side.median_ns)} the median."
        for name, side in zip(names, (change.before, change.after), strict=True)
        if side is not None
        for one in side.outliers
    ]


def picture_line(picture: PictureDifference) -> str:
    """How far two pictures are apart."""
    if picture.note:
        found = picture.note
    elif picture.identical:
        found = "identical, pixel by pixel"
    else:
        psnr, ssim = picture.psnr_db or 0.0, picture.ssim or 0.0
        found = f"PSNR {numbers.decibels(psnr)}, SSIM {numbers.similarity(ssim)}"
    return f"{' and '.join(picture_names(picture))}: {found}"


def picture_names(picture: PictureDifference) -> tuple[str, str]:
    """The names of the two files, with as many of their folders as it takes to tell them apart."""
    before, after = Path(picture.before).parts, Path(picture.after).parts
    for depth in range(1, max(len(before), len(after))):
        names = "/".join(before[-depth:]), "/".join(after[-depth:])
        if names[0] != names[1]:
            return names
    # One file twice, or paths that say no more than their names.
    return (before[-1], after[-1]) if before == after else (picture.before, picture.after)
