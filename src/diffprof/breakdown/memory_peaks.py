"""The peak memory of each component and stage of a measured run, and the memory at certain moments.

Warm-ups are included, because they had to fit, too. Traced iterations are not, because a trace takes memory itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from diffprof.record.measured import Iteration, MemoryPoint, SystemPoint
from diffprof.record.profile import Profile

BEFORE, DENOISING, AFTER, WHOLE = "before denoising", "denoising", "after denoising", "whole call"
_GROUPS = {"text_encoder": "text_encoding", "image_encoder": "image_encoding"}


@dataclass(frozen=True)
class MemoryRow:
    """The peak of one component or stage, over all iterations."""

    part: str
    """The component's slot, or the stage: before, in or after the denoising loop."""
    is_stage: bool
    device_peak_bytes: int | None
    """Peak allocated memory on the device; None without a device, or if it does not report it."""
    rss_peak_bytes: int
    """Highest sampled resident memory of the process; a peak between two samples may have been higher."""


@dataclass(frozen=True)
class MemoryMoment:
    """The memory at one moment of one iteration."""

    iteration: int
    warmup: bool
    label: str
    """``start``, ``after_text_encoding``, ``after_denoising``, ``after_vae_decode``, ``end``..."""
    allocated_bytes: int | None
    reserved_bytes: int | None
    max_allocated_bytes: int | None
    """Peak allocated memory since the moment before."""
    rss_bytes: int
    peak_rss_bytes: int
    """Peak resident memory since the process started."""


def counted_peak_bytes(profile: Profile) -> int:
    """The counted peak memory: all weights, plus the largest peak of live activations of any component call."""
    largest = max((part.peak_live_bytes for part in profile.components.values()), default=0)
    return profile.total.weight_bytes + largest


def memory_table(profile: Profile) -> list[MemoryRow]:
    """The components in the order of their first calls, then the stages in the order in which they ran."""
    if profile.measured is None:
        return []
    system = profile.measured.system
    rows: dict[tuple[bool, str], MemoryRow] = {}
    for iteration in profile.measured.iterations:
        if iteration.traced:
            continue
        for is_stage, part, points in (*_components(iteration), *_stages(iteration)):
            row = _peak(part, is_stage, points, _sampled_rss(points, iteration, system))
            rows[is_stage, part] = _maximum(rows[is_stage, part], row) if (is_stage, part) in rows else row
    order = {BEFORE: 1, DENOISING: 2, AFTER: 3, WHOLE: 4}
    return sorted(rows.values(), key=lambda row: order[row.part] if row.is_stage else 0)


def memory_moments(profile: Profile) -> list[MemoryMoment]:
    """The start, the end, and the moment after each kind of work, of all iterations except traced ones.

    Successive work of the same kind has one moment, after the last of it.
    """
    return [
        moment
        for number, iteration in enumerate(profile.measured.iterations if profile.measured else ())
        if not iteration.traced
        for moment in _moments(profile, iteration, number)
    ]


def _components(iteration: Iteration) -> Iterable[tuple[bool, str, Sequence[MemoryPoint]]]:
    places: dict[int, list[int]] = {}
    for place, point in enumerate(iteration.memory):
        if point.sample is not None:
            places.setdefault(point.sample, []).append(place)
    for number, found in places.items():
        component = iteration.samples[number].component
        if component is not None:
            yield False, component, iteration.memory[found[0] : found[-1] + 1]


def _stages(iteration: Iteration) -> Iterable[tuple[bool, str, Sequence[MemoryPoint]]]:
    """The points of each stage; neighbouring stages share the point between them."""
    points = iteration.memory
    denoising = [place for place, point in enumerate(points) if _is_denoising(iteration, point)]
    if denoising:
        first, last = denoising[0], denoising[-1]
        yield True, BEFORE, points[: first + 1]
        yield True, DENOISING, points[first : last + 1]
        yield True, AFTER, points[last:]
    elif points:
        yield True, WHOLE, points


def _is_denoising(iteration: Iteration, point: MemoryPoint) -> bool:
    return point.sample is not None and iteration.samples[point.sample].step is not None


def _sampled_rss(points: Sequence[MemoryPoint], iteration: Iteration, system: Sequence[SystemPoint]) -> list[int]:
    """The samples of the background sampler between the first and the last of the points."""
    begin, end = iteration.began_ns + points[0].at_ns, iteration.began_ns + points[-1].at_ns
    return [point.rss_bytes for point in system if begin <= point.at_ns <= end]


def _peak(part: str, is_stage: bool, points: Sequence[MemoryPoint], seen: Sequence[int]) -> MemoryRow:
    # The peak of the process says something about these points only if it rose between them.
    risen = [
        later.peak_rss_bytes for earlier, later in pairwise(points) if later.peak_rss_bytes > earlier.peak_rss_bytes
    ]
    return MemoryRow(
        part=part,
        is_stage=is_stage,
        device_peak_bytes=_known_maximum([*(point.allocated_bytes for point in points), _peak_since(points)]),
        rss_peak_bytes=max([point.rss_bytes for point in points] + risen + list(seen)),
    )


def _peak_since(points: Sequence[MemoryPoint]) -> int | None:
    """The peak of the device after the first of the points; each point has the peak since the one before it."""
    return _known_maximum([point.peak_allocated_bytes for point in points[1:]])


def _known_maximum(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _maximum(one: MemoryRow, other: MemoryRow) -> MemoryRow:
    return MemoryRow(
        one.part,
        one.is_stage,
        _known_maximum([one.device_peak_bytes, other.device_peak_bytes]),
        max(one.rss_peak_bytes, other.rss_peak_bytes),
    )


def _moments(profile: Profile, iteration: Iteration, number: int) -> list[MemoryMoment]:
    ends: list[tuple[str, int]] = []
    begun: set[int] = set()
    for place, point in enumerate(iteration.memory):
        # The first point of a sample is where it begins.
        if point.sample is not None and point.sample not in begun:
            begun.add(point.sample)
            continue
        label = _label(profile, iteration, point)
        if ends and ends[-1][0] == label:
            ends.pop()
        ends.append((label, place))
    starts = [0, *(place for _, place in ends)]
    return [
        _moment(iteration, number, label, iteration.memory[start : place + 1])
        for (label, place), start in zip(ends, starts, strict=False)
    ]


def _label(profile: Profile, iteration: Iteration, point: MemoryPoint) -> str:
    if point.sample is None:
        return point.label
    sample = iteration.samples[point.sample]
    part = profile.components.get(sample.component or "")
    group = _GROUPS.get(part.role if part else "", sample.section)
    return f"after_{'denoising' if sample.step is not None else group}"


def _moment(iteration: Iteration, number: int, label: str, points: Sequence[MemoryPoint]) -> MemoryMoment:
    """The last of the points, with the peak since the first of them."""
    last = points[-1]
    return MemoryMoment(
        iteration=number,
        warmup=iteration.warmup,
        label=label,
        allocated_bytes=last.allocated_bytes,
        reserved_bytes=last.reserved_bytes,
        max_allocated_bytes=_peak_since(points) if len(points) > 1 else last.peak_allocated_bytes,
        rss_bytes=last.rss_bytes,
        peak_rss_bytes=last.peak_rss_bytes,
    )
