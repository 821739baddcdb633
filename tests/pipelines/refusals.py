"""Damage to a folder, and what every refusal looks like."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.pipelines.folders import edit

Damage = Callable[[Path], object]


def change_index(**changes: Any) -> Damage:
    return lambda model: edit(model / "model_index.json", lambda content: content.update(changes))


def change_config(slot: str, **changes: Any) -> Damage:
    return lambda model: edit(model / slot / "config.json", lambda content: content.update(changes))


def write_file(path: str, content: str | bytes) -> Damage:
    return lambda model: (model / path).write_bytes(content.encode() if isinstance(content, str) else content)


def assert_one_sentence(err: str, words: str) -> None:
    assert err.startswith("diffprof: error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert "a bug in diffprof" not in err
    assert words in err
