"""The form of counted values: everything but their numbers, which one program can compute."""

from __future__ import annotations

import re
from typing import Any

_DIGITS = re.compile(r"\d+")


class Forms:
    """Finds out whether values can be merged into one template; parts that samples share are examined once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, int]] = {}
        """The form of each value by `id`; the value is kept alive, so that its `id` is not reused."""

    def form(self, value: Any) -> int:
        """Return a number that is equal for values of the same form."""
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
