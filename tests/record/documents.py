"""What is done to saved profiles in the tests: comparing with the schema, damaging in one place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "profile.schema.json").read_text(encoding="utf-8"))

Damage = Callable[[dict[str, Any]], None]


def change(path: str, value: Any) -> Damage:
    """A change of one value of the file, at a dotted path."""

    def apply(values: dict[str, Any]) -> None:
        *parents, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
        place: Any = values
        for part in parents:
            place = place[part]
        place[last] = value

    return apply


def leaves(values: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the file has a value that is no container; of long lists, in the first two items."""
    if isinstance(values, dict):
        return [leaf for key, value in values.items() for leaf in leaves(value, (*path, key))]
    if isinstance(values, list):
        return [leaf for place, value in enumerate(values[:2]) for leaf in leaves(value, (*path, place))]
    return [path]
