"""The columns by which kept profiles are searched."""

from __future__ import annotations

import hashlib
import json
import re
import statistics
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from diffprof.record.document import encode_plain
from diffprof.record.history.filters import storable_text
from diffprof.record.measured import Iteration, Measured
from diffprof.record.profile import Profile
from diffprof.record.recorded_request import RecordedRequest

# SQLite's largest integer; larger numbers are stored as floating-point numbers, and exactly in the profile.
_LARGEST = 2**63 - 1

_PROMPT = re.compile(r"(negative_)?prompt(_\d+)?")


def summary(profile: Profile) -> dict[str, Any]:
    """Return the columns of the table of runs that come from the profile."""
    request, measured = profile.request, profile.measured
    values: dict[str, Any] = {
        "model": request.model,
        "pipeline": request.pipeline,
        "device": measured.device.name if measured else None,
        "device_kind": measured.device.kind if measured else None,
        "dtype": _dtype(profile),
        "height": _count(request.value("height")),
        "width": _count(request.value("width")),
        "frames": _count(request.value("num_frames")),
        "steps": profile.steps.count,
        "requested_steps": _count(request.value("num_inference_steps")),
        "macs": profile.total.macs,
        "parameters": profile.total.parameters,
        "iterations": len(measured.timed_iterations) if measured else None,
        "wall_seconds": wall_seconds(measured) if measured else None,
        "peak_memory_bytes": peak_memory_bytes(measured) if measured else None,
        "request": digest(request),
        **vars(profile.environment),
        "words": _search_text(profile),
    }
    return {name: _storable(value) for name, value in values.items()}


def digest(request: RecordedRequest) -> str:
    """Return a digest that is equal for all requests for the same work.

    The seed and the text of prompts are left out, because they change the image but not the work.
    """
    values = {**request.arguments, **request.defaults}
    facts = {
        "model": request.model,
        "pipeline": request.pipeline,
        "arguments": {name: _without_prompt_text(name, value) for name, value in values.items() if name != "generator"},
        "dtype": request.dtype,
        "scheduler": request.scheduler,
        "enable": sorted(request.enable),
    }
    return hashlib.sha256(json.dumps(encode_plain(facts, "request"), sort_keys=True).encode()).hexdigest()[:16]


def wall_seconds(measured: Measured) -> float | None:
    """Return the median of the timed iterations: device time if all of them have it, else host time."""
    walls = [iteration.wall for iteration in measured.timed_iterations]
    on_device = [wall.device_ns for wall in walls if wall.device_ns is not None]
    times = on_device if len(on_device) == len(walls) else [wall.host_ns for wall in walls]
    return statistics.median(times) / 1e9 if times else None


def peak_memory_bytes(measured: Measured) -> int | None:
    """Return the peak over all iterations except traced ones, because a trace takes memory itself."""
    whole = [iteration for iteration in measured.iterations if not iteration.traced]
    on_device = [number for iteration in whole for number in _device_bytes(iteration)]
    of_process = [number for iteration in whole for number in _process_bytes(iteration, measured)]
    return max(on_device or of_process, default=None)


def _device_bytes(iteration: Iteration) -> Iterator[int]:
    points = iteration.memory
    # The peak at the first point belongs to the time before the iteration.
    numbers = [point.allocated_bytes for point in points] + [point.peak_allocated_bytes for point in points[1:]]
    return (number for number in numbers if number is not None)


def _process_bytes(iteration: Iteration, measured: Measured) -> Iterator[int]:
    points = iteration.memory
    yield from (point.rss_bytes for point in points)
    # The peak of the process belongs to this iteration only if it rose during it.
    for earlier, later in pairwise(points):
        if later.peak_rss_bytes > earlier.peak_rss_bytes:
            yield later.peak_rss_bytes
    if points:
        begin, end = iteration.began_ns + points[0].at_ns, iteration.began_ns + points[-1].at_ns
        yield from (point.rss_bytes for point in measured.system if begin <= point.at_ns <= end)


def _dtype(profile: Profile) -> str | None:
    if profile.request.dtype:
        return profile.request.dtype
    return next((part.dtype for part in profile.components.values() if part.role == "denoiser"), None)


def _search_text(profile: Profile) -> str:
    """Return the text to search in: names and prompts, in lower case."""
    request = profile.request
    device = [profile.measured.device.name, profile.measured.device.kind] if profile.measured else []
    given = [value for name, value in request.arguments.items() if _PROMPT.fullmatch(name)]
    prompts = [text for value in given for text in (value if isinstance(value, list | tuple) else [value])]
    names = [request.model, request.pipeline, _dtype(profile) or "", request.scheduler or "", *request.enable, *device]
    return "\n".join([*names, *(text for text in prompts if isinstance(text, str))]).casefold()


def _without_prompt_text(name: str, value: Any) -> Any:
    """Replace the text of prompts: only their number matters."""
    if not _PROMPT.fullmatch(name):
        return value
    if isinstance(value, list | tuple):
        return [_without_prompt_text(name, item) for item in value]
    return "" if isinstance(value, str) else value


def _count(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable_text(value)
    return float(value) if type(value) is int and value > _LARGEST else value
