"""A real profile to predict times of."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from diffprof.record.files import load
from diffprof.record.profile import Profile

FILE = Path(__file__).parent.parent / "record" / "data" / "sd-2.1-base.v2.json.gz"


@cache
def stable_diffusion_profile() -> Profile:
    """Stable Diffusion 2.1 base, counted."""
    return load(FILE)
