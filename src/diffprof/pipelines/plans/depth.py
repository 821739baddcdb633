"""Models with fewer or more blocks than the published one of their architecture: pruned or grown ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from diffprof.pipelines.plans.blueprint import PartPlan

BLOCK = re.compile(r"^(?P<path>[A-Za-z_]+)\.(?P<number>\d+)\.")
DEPTH_WORDS = {"layers", "blocks", "depth"}
"""Words in the configuration keys for numbers of blocks."""


def with_stored_depth(plan: PartPlan, model: Any, stored: Collection[str]) -> PartPlan | None:
    """Return the plan with as many blocks as these weights have; None if the number of blocks does not differ."""
    usual, found = block_counts(model.state_dict()), block_counts(stored)
    changes: dict[str, Any] = {}
    for path, count in usual.items():
        if found.get(path, 0) != count:
            key = _depth_key(model.config, path, count, changes)
            if key is None:
                return None
            changes[key] = found.get(path, 0)
    if not changes:
        return None
    return replace(plan, config={**plan.config, **changes}, parameters=None)


def block_counts(names: Collection[str]) -> dict[str, int]:
    """Return the lists of blocks in a model and their lengths, by the names of its weights."""
    found: dict[str, set[str]] = {}
    for match in map(BLOCK.match, names):
        if match is not None:
            found.setdefault(match["path"], set()).add(match["number"])
    return {path: len(numbers) for path, numbers in found.items()}


def _depth_key(config: Mapping[str, Any], path: str, count: int, taken: Collection[str]) -> str | None:
    """Return the configuration key for the length of a list of blocks: the one with the most similar name."""
    keys = [
        key
        for key, value in config.items()
        if type(value) is int and value == count and DEPTH_WORDS & set(key.split("_")) and key not in taken
    ]
    words = set(path.split("_"))
    return min(keys, key=lambda key: len(set(key.split("_")) ^ words), default=None)
