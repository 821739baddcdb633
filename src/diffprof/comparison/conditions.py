"""What several profiles do not have in common: to be read before any of their figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from diffprof.record.profile import Environment, Profile, RecordedRequest

REQUEST, DEFAULT, DTYPE, VERSION, DEVICE, MEASUREMENT = (
    "request", "default", "dtype", "version", "device", "measurement",
)  # fmt: skip
"""The groups of conditions, in the order in which they are told."""

NAMED_SOURCES = ("catalogue", "hub")
"""Where a name means the same model everywhere; folders and live pipelines are called as it pleases."""


@dataclass(frozen=True)
class Condition:
    """One condition that is not the same for all profiles."""

    group: str
    name: str
    values: tuple[Any, ...]
    """One for each profile, as plain values; None where a profile has none."""


def differing_conditions(profiles: Sequence[Profile]) -> tuple[Condition, ...]:
    """Every condition in which the profiles differ, grouped."""
    return tuple(condition for condition in _conditions(profiles) if not _same(condition.values))


def other_request(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Of the differing conditions, those that make it another request: the figures then differ by what was asked.

    Another version is no other request, nor is a default that changed with it: these are what a check is to find.
    """
    return tuple(condition for condition in conditions if condition.group == REQUEST and condition.name != FOLDER)


def other_device(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Of the differing conditions, those under which times say nothing about the code."""
    return tuple(condition for condition in conditions if condition.group == DEVICE)


FOLDER = "folder"


def _conditions(profiles: Sequence[Profile]) -> Iterable[Condition]:
    def each(group: str, name: str, value: Callable[[Profile], Any]) -> Condition:
        return Condition(group, name, tuple(value(profile) for profile in profiles))

    named = all(profile.request.source in NAMED_SOURCES for profile in profiles)
    yield each(REQUEST, "model" if named else FOLDER, lambda profile: profile.request.model)
    yield each(REQUEST, "pipeline", lambda profile: profile.request.pipeline)
    given = _names(profile.request.arguments for profile in profiles)
    for name in given:
        yield each(REQUEST, name, lambda profile, name=name: _asked(profile.request, name))  # type: ignore[misc]
    yield each(REQUEST, "scheduler", lambda profile: profile.request.scheduler)
    yield each(REQUEST, "enable", lambda profile: list(profile.request.enable))
    yield each(REQUEST, "dtype", lambda profile: profile.request.dtype)
    for name in _names(profile.request.defaults for profile in profiles):
        # What was asked for may not be what was made: that is told where all asked for the same.
        if name not in given or _same([_asked(profile.request, name) for profile in profiles]):
            yield each(DEFAULT, name, lambda profile, name=name: profile.request.value(name))  # type: ignore[misc]
    for slot in _names(profile.components for profile in profiles):
        if all(slot in profile.components for profile in profiles):
            yield each(DTYPE, slot, lambda profile, slot=slot: profile.components[slot].dtype)  # type: ignore[misc]
    for name in Environment.__dataclass_fields__:
        yield each(VERSION, name, lambda profile, name=name: getattr(profile.environment, name))  # type: ignore[misc]
    yield from _measured_conditions(profiles)


def _asked(request: RecordedRequest, name: str) -> Any:
    return request.arguments.get(name, request.defaults.get(name))


def _measured_conditions(profiles: Sequence[Profile]) -> Iterable[Condition]:
    """Those of the profiles that were measured: one that was only counted has no device to differ in."""
    measured = [profile.measured for profile in profiles]
    known = [one for one in measured if one is not None]
    if len(known) > 1:
        for name in ("name", "kind", "threads"):
            values = [getattr(one.device, name) for one in known]
            if not _same(values):
                yield Condition(DEVICE, name, tuple(getattr(one.device, name) if one else None for one in measured))
    if known:
        yield Condition(MEASUREMENT, "measured", tuple(one is not None for one in measured))
    if len(known) > 1:
        yield Condition(MEASUREMENT, "iterations", tuple(len(one.timed) if one else None for one in measured))
        yield Condition(MEASUREMENT, "repeated", tuple(one.repeated if one else None for one in measured))
        yield Condition(MEASUREMENT, "complete", tuple(one.complete if one else None for one in measured))


def _names(mappings: Iterable[Iterable[str]]) -> dict[str, None]:
    return dict.fromkeys(name for mapping in mappings for name in mapping)


def _same(values: Sequence[Any]) -> bool:
    # By type too: 1 and true are equal in Python, and two different things to ask for. 30 and 30.0 are one.
    return all(value == values[0] and _is_truth(value) == _is_truth(values[0]) for value in values)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)
