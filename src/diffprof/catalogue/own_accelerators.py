"""Accelerators of the user: those that `diffprof hardware calibrate` measured, and those of a file."""

from __future__ import annotations

from pathlib import Path

from diffprof import settings
from diffprof.catalogue.accelerators import Accelerator, accelerators, read_accelerators


def own_file() -> Path:
    """Where measured accelerators are kept: beside the user's settings."""
    return settings.user_file().with_name("hardware.toml")


def known_accelerators(file: Path | None = None) -> tuple[Accelerator, ...]:
    """Those of the file, then the user's own, then the catalogue's; a name counts once."""
    own = read_accelerators(file) if file else ()
    measured = read_accelerators(own_file()) if own_file().is_file() else ()
    return tuple({entry.name: entry for entry in reversed((*own, *measured, *accelerators()))}.values())[::-1]
