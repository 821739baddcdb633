"""How a record shows itself when printed: renderers are named here, imported when used, so that records need none."""

from __future__ import annotations

from importlib import import_module
from typing import Any

TEXT = {"Run": "diffprof.render.run_console:run_text"}
"""By the name of the record: the function that makes text of its profile."""


def text_of(record: str, *values: Any) -> str:
    """What the console shows of the record."""
    module, _, function = TEXT[record].partition(":")
    return str(getattr(import_module(module), function)(*values))
