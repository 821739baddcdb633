"""``diffprof cache``: the profiles that were kept."""

from __future__ import annotations

from pathlib import Path

from diffprof.record import cache
from tests.cli.conftest import Run
from tests.sample_profiles import stable_diffusion


def test_the_cache_can_be_looked_at_and_emptied(run: Run, own_cache: Path) -> None:
    cache.write("a" * 64, stable_diffusion())
    assert f"{own_cache}: 1 profile, " in run("cache", "info").out
    assert run("cache").out == run("cache", "info").out
    assert "removed 1 profile, " in run("cache", "clear").out
    assert f"{own_cache}: 0 profiles, 0 B\n" == run("cache", "info").out
