"""What a command made of a case, and whether that is as it should be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

CPU_SECONDS = 20
"""A case that takes more of the processor's time hangs."""
MEMORY_BYTES = 2 * 10**9
"""A case that makes the process larger takes too much."""
LONGEST_MESSAGE = 450
"""Characters of a refusal, with the name of the program and what was left out."""


@dataclass(frozen=True)
class Ended:
    """How one command ended."""

    command: list[str]
    code: int | str
    """The exit code, or the exception that came out."""
    out: str
    err: str


Check = Callable[[Sequence[Ended]], list[str]]


def problems(ended: Sequence[Ended]) -> list[str]:
    """What no file may cause, whatever it holds."""
    found = []
    for end in ended:
        first = end.err.strip().splitlines()[-1:] or [""]
        # The gate's answer is its exit code: 1 for a limit that is exceeded, 3 for times that are too noisy to tell.
        is_gate = end.command[0] == "gate"
        if "bug in diffprof" in end.err:
            found.append(f"bug: {end.err.strip():.400}")
        elif isinstance(end.code, str):
            found.append(f"exception: {end.code:.400}")
        elif end.code not in ((0, 1, 2, 3) if is_gate else (0, 1, 2)):
            found.append(f"exit code {end.code}")
        elif "No such option" in end.err:
            found.append(f"a command that does not exist tries nothing: {' '.join(end.command)}")
        elif end.code and not (end.err + (end.out if is_gate else "")).strip():
            found.append(f"exit code {end.code} without a message: {end.out:.200}")
        elif end.code and len(first[0]) > LONGEST_MESSAGE:
            found.append(f"a refusal of {len(first[0]):,} characters: {first[0]:.100}...")
        elif end.code == 0 and "--json" in end.command and "-o" not in end.command:
            found += _json_problems(end.out)
    return found


def _json_problems(text: str) -> list[str]:
    try:
        json.loads(text)
    except ValueError as error:
        return [f"what was printed is no JSON: {error}"]
    return []


def check_trace(ended: Sequence[Ended]) -> list[str]:
    """Times are never negative, and what makes up the total adds up to it."""
    found = []
    for end in ended:
        if end.code != 0 or "--json" not in end.command or "--against" in end.command:
            continue
        times, timelines = [], []
        for place, value in _walk(json.loads(end.out), ""):
            if isinstance(value, dict):
                timelines += [value] if "exposed_copy_ns" in value and "busy_ns" in value else []
            elif isinstance(value, int | float) and value < 0 and _is_duration(place):
                times.append(f"negative: {place} = {value}")
        found += times[:3]
        found += [f"does not add up: {part}" for part in timelines if not _adds_up(part)]
    return found


def _adds_up(timeline: dict[str, Any]) -> bool:
    parts = ("computation_ns", "exposed_communication_ns", "exposed_copy_ns")
    return bool(sum(timeline[part] for part in parts) == timeline["busy_ns"] <= timeline["total_ns"])


def _is_duration(place: str) -> bool:
    # Where a trace begins is a place on its clock.
    return place.endswith(("_ns", "ns_total", "seconds")) and not place.endswith("origin_ns")


def _walk(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Every object and every plain value in a value of JSON, with its place."""
    waiting = [(place, value)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, list):
            waiting += [(f"{place}/{number}", item) for number, item in enumerate(value)]
            continue
        yield place, value
        if isinstance(value, dict):
            waiting += [(f"{place}/{key}", item) for key, item in value.items()]
