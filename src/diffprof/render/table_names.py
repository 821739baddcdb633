"""Names of the tables of a profile, apart from their renderers, so that options can list them without imports."""

from __future__ import annotations

from enum import Enum

DEFAULT_DEPTH = 1
"""Levels of modules below a component."""


class ProfileTable(str, Enum):
    """Tables of counts, named after their rows."""

    component = "component"
    kind = "kind"
    module = "module"
    attention = "attention"
    call = "call"


class RunTable(str, Enum):
    """Tables of a measured run, named after their rows."""

    section = "section"
    component = "component"
    step = "step"
    memory = "memory"
    peak = "peak"
    cache = "cache"
    move = "move"
    device = "device"
    rank = "rank"
