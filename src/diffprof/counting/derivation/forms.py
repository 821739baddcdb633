"""What counted values have in common with others of the same program: everything but their numbers."""

from __future__ import annotations

import re
from typing import Any

_DIGITS = re.compile(r"\d+")


class Forms:
    """Tells whether values can be merged into one template; parts that samples share are looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, int]] = {}
        """By identity: the value, which is kept so that no other gets its identity, and its form."""

    def form(self, value: Any) -> int:
        """Equal for values of one form."""
        if isinstance(value, tuple | dict):
            known = self._known.get(id(value))
            if known is None:
                known = self._known[id(value)] = (value, self._form_of_parts(value))
            return known[1]
        if type(value) is int:
            return hash(int)
        return hash(_DIGITS.sub("0", value)) if isinstance(value, str) else hash((type(value), value))

    def _form_of_parts(self, value: Any) -> int:
        if isinstance(value, dict):
            return hash(tuple((name, self.form(part)) for name, part in value.items()))
        return hash(tuple(map(self.form, value)))
