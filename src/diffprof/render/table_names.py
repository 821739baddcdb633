"""The tables that a profile can be shown as, by name: options need the names before anything is rendered."""

from __future__ import annotations

from enum import Enum

DEFAULT_DEPTH = 1
"""Levels of modules below a component."""


class ProfileTable(str, Enum):
    """What the rows of a table of what was counted are."""

    component = "component"
    kind = "kind"
    module = "module"
    attention = "attention"
    call = "call"


class RunTable(str, Enum):
    """What the rows of a table of what was measured are."""

    section = "section"
    component = "component"
    step = "step"
    memory = "memory"
    peak = "peak"
    cache = "cache"
    move = "move"
    device = "device"
    rank = "rank"
