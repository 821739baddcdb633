"""Find a profile by name: a saved one, read without torch, or a model that is counted now."""

from __future__ import annotations

from collections.abc import Callable

from diffprof.record.profile import Profile
from diffprof.record.saved_profiles import load_saved, saved_file


def open_profile(name: str, count: Callable[[str], Profile]) -> Profile:
    """Load the saved profile of this name, or else count the model of this name with `count`."""
    file = saved_file(name)
    return count(name) if file is None else load_saved(file)
