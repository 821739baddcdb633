"""Values of call arguments as Python."""

from __future__ import annotations

import json
from typing import Any


def literal(value: Any) -> str:
    """A plain value as Python; texts in double quotes, as in the rest of a program."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)
