"""The conditions in which profiles differ: request, dtypes, versions, device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from diffprof.record.profile import Profile
from diffprof.record.recorded_request import Environment

REQUEST, DEFAULT, DTYPE, VERSION, DEVICE, MEASUREMENT = (
    "request", "default", "dtype", "version", "device", "measurement",
)  # fmt: skip
"""The groups of conditions, in the order of display."""

NAMED_SOURCES = ("catalogue", "hub")
"""Sources whose names identify a model everywhere; a folder or a live pipeline can have any name."""


@dataclass(frozen=True)
class Condition:
    """A condition that differs between profiles."""

    group: str
    name: str
    values: tuple[Any, ...]
    """The plain value of each profile; None if a profile has none."""


def differing_conditions(profiles: Sequence[Profile]) -> tuple[Condition, ...]:
    """Every condition in which the profiles differ, grouped."""
    return tuple(condition for condition in _conditions(profiles) if not _are_equal(condition.values))


def request_differences(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """The conditions that make the requests different, so that different counts are expected.

    Versions, and defaults that changed with them, are not among them: a gate has to detect their effect.
    """
    return tuple(condition for condition in conditions if condition.group == REQUEST and condition.name != FOLDER)


def device_differences(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """The conditions of the device, whose difference makes times incomparable."""
    return tuple(condition for condition in conditions if condition.group == DEVICE)


MODEL = "model"
FOLDER = "folder"


@dataclass(frozen=True)
class Comparable:
    """Whether counts and times can be compared."""

    counts: bool
    """False if the requests differ, or if the same size was computed at different sizes."""
    times: bool | None
    """Also False for different devices; None if not all profiles were measured."""


def comparable(profiles: Sequence[Profile], conditions: Iterable[Condition]) -> Comparable:
    """Whether the counts and times of profiles with these differing conditions can be compared."""
    found = tuple(conditions)
    computed = [profile.computed_size for profile in profiles]
    counts = not request_differences(found) and all(size == computed[0] for size in computed)
    if any(profile.measured is None for profile in profiles):
        return Comparable(counts, None)
    return Comparable(counts, counts and not device_differences(found))


def _conditions(profiles: Sequence[Profile]) -> Iterable[Condition]:
    def each(group: str, name: str, value: Callable[[Profile], Any]) -> Condition:
        return Condition(group, name, tuple(value(profile) for profile in profiles))

    named = all(profile.request.source in NAMED_SOURCES for profile in profiles)
    yield each(REQUEST, MODEL if named else FOLDER, lambda profile: profile.request.model)
    yield each(REQUEST, "pipeline", lambda profile: profile.request.pipeline)
    requested = _names(profile.request.arguments for profile in profiles)
    for name in requested:
        yield each(REQUEST, name, partial(_requested_value, name))
    yield each(REQUEST, "scheduler", lambda profile: profile.request.scheduler)
    yield each(REQUEST, "enable", lambda profile: list(profile.request.enable))
    for name in _names(profile.request.changes.non_empty for profile in profiles):
        yield each(REQUEST, name, partial(_change, name))
    yield each(REQUEST, "dtype", lambda profile: profile.request.dtype)
    for name in _names(profile.request.defaults for profile in profiles):
        # The executed value can differ from the requested one; it is shown if all requested the same.
        if name not in requested or _are_equal([_requested_value(name, profile) for profile in profiles]):
            yield each(DEFAULT, name, partial(_executed_value, name))
    for slot in _names(profile.components for profile in profiles):
        if all(slot in profile.components for profile in profiles):
            yield each(DTYPE, slot, partial(_component_dtype, slot))
    for name in Environment.__dataclass_fields__:
        yield each(VERSION, name, partial(_version, name))
    yield from _measured_conditions(profiles)


def _requested_value(name: str, profile: Profile) -> Any:
    request = profile.request
    return request.arguments.get(name, request.defaults.get(name))


def _change(name: str, profile: Profile) -> Any:
    return profile.request.changes.non_empty.get(name)


def _executed_value(name: str, profile: Profile) -> Any:
    return profile.request.value(name)


def _component_dtype(slot: str, profile: Profile) -> Any:
    return profile.components[slot].dtype


def _version(name: str, profile: Profile) -> Any:
    return getattr(profile.environment, name)


def _measured_conditions(profiles: Sequence[Profile]) -> Iterable[Condition]:
    """The conditions of measured runs; profiles that were only counted have no device."""
    measured = [profile.measured for profile in profiles]
    known = [run for run in measured if run is not None]
    if len(known) > 1:
        for name in ("name", "kind", "threads"):
            values = [getattr(run.device, name) for run in known]
            if not _are_equal(values):
                yield Condition(DEVICE, name, tuple(getattr(run.device, name) if run else None for run in measured))
    if known:
        yield Condition(MEASUREMENT, "measured", tuple(run is not None for run in measured))
    if len(known) > 1:
        yield Condition(
            MEASUREMENT, "iterations", tuple(len(run.timed_iterations) if run else None for run in measured)
        )
        yield Condition(MEASUREMENT, "repeated", tuple(run.repeated if run else None for run in measured))
        yield Condition(MEASUREMENT, "complete", tuple(run.complete if run else None for run in measured))
        for name in _names(run.preparation for run in known):
            yield Condition(MEASUREMENT, name, tuple(run.preparation.get(name) if run else None for run in measured))


def _names(mappings: Iterable[Iterable[str]]) -> dict[str, None]:
    return dict.fromkeys(name for mapping in mappings for name in mapping)


def _are_equal(values: Sequence[Any]) -> bool:
    # 1 and True are equal in Python, but different requests; 30 and 30.0 are the same.
    return all(value == values[0] and _is_bool(value) == _is_bool(values[0]) for value in values)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)
