"""What an empty section costs: ``python -m benchmarks.sections`` prints nanoseconds and ratios as JSON.

`profile_section`, enabled and disabled, against `torch.profiler.record_function`, in turns in one process.
"""

from __future__ import annotations

import json
import timeit
from collections.abc import Callable
from statistics import median

from torch.profiler import record_function

from diffprof import profiling
from diffprof.profiling import profile_section

ROUNDS = 60
SECTIONS = 2000


def main() -> None:
    ways: dict[str, Callable[[], float]] = {
        "record_function": lambda: _nanoseconds(_record_function),
        "enabled": lambda: _nanoseconds(_profile_section),
        "nested": lambda: _nanoseconds(_two_sections) / 2,
        "disabled": _disabled,
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            taken[name].append(way())
    results = {name: median(found) for name, found in taken.items()}
    ratios = {f"{name}_ratio": results[name] / results["record_function"] for name in ("enabled", "nested", "disabled")}
    print(json.dumps({**results, **ratios}, indent=2))  # noqa: T201


def _nanoseconds(function: Callable[[], None]) -> float:
    return timeit.timeit(function, number=SECTIONS) / SECTIONS * 1e9


def _record_function() -> None:
    with record_function("section"):
        pass


def _profile_section() -> None:
    with profile_section("section"):
        pass


def _two_sections() -> None:
    with profile_section("outer"), profile_section("inner"):
        pass


def _disabled() -> float:
    profiling.disable()
    try:
        return _nanoseconds(_profile_section)
    finally:
        profiling.enable()


if __name__ == "__main__":
    main()
