"""diffprof: what a diffusion pipeline costs, where the cost goes and what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diffprof.errors import DiffprofError
from diffprof.version import __version__

if TYPE_CHECKING:
    from diffprof.counting.profile import profile
    from diffprof.record.files import load
    from diffprof.record.profile import Profile
    from diffprof.runtime.measure import Run, measure, measuring
    from diffprof.runtime.turns import measure_in_turns

__all__ = [
    "DiffprofError",
    "Profile",
    "Run",
    "__version__",
    "load",
    "measure",
    "measure_in_turns",
    "measuring",
    "profile",
]


def __getattr__(name: str) -> Any:
    """Import what is used when it is first used: help comes at once, and only measuring needs torch."""
    if name == "profile":
        from diffprof.counting.profile import profile

        return profile
    if name == "measure_in_turns":
        from diffprof.runtime.turns import measure_in_turns

        return measure_in_turns
    if name == "load":
        from diffprof.record.files import load

        return load
    if name == "Profile":
        from diffprof.record.profile import Profile

        return Profile
    if name in ("Run", "measure", "measuring"):
        from diffprof.runtime import measure as runs

        return getattr(runs, name)
    raise AttributeError(f"module 'diffprof' has no attribute {name!r}")
