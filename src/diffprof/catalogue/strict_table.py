"""Read a table of a TOML file strictly: a wrong, missing or unknown key is an error that names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from diffprof.errors import FileFormatError

_KINDS = {int: "a whole number", str: "a text", list: "a list", dict: "a table"}
_REQUIRED = object()
LARGEST = 1e9
"""The largest number, in any unit, such as GiB or TFLOP/s, that an accelerator can have."""
SMALLEST = 1e-12
"""The smallest number: some are seconds of one operation, and what is smaller is a mistake."""
LARGEST_WHOLE = 2**63 - 1
"""The largest integer, such as a number of parameters, that a model can have."""


class StrictTable:
    """A table of the file. Each key is taken once; `finish` refuses those that are left."""

    def __init__(self, values: Any, where: str, smallest: int = 1) -> None:
        self.where, self.smallest = where, smallest
        if not isinstance(values, Mapping):
            raise FileFormatError(f"In {where}: this must be a table.")
        self.values = values
        self.taken: set[str] = set()

    def refuse(self, key: str, why: str) -> NoReturn:
        raise FileFormatError(f"In {self.where}: {key} {why}.")

    def take(self, key: str, kind: type, default: Any = _REQUIRED) -> Any:
        self.taken.add(key)
        if key not in self.values:
            return self.refuse(key, "is missing") if default is _REQUIRED else default
        value = self.values[key]
        if type(value) is not kind:
            self.refuse(key, f"must be {_KINDS[kind]}, not {value!r}")
        if isinstance(value, int) and value < self.smallest:
            self.refuse(key, f"must be at least {self.smallest}, not {value}")
        if isinstance(value, int) and value > LARGEST_WHOLE:
            self.refuse(key, f"must be at most {LARGEST_WHOLE:,}")
        return value

    def number(self, key: str, required: bool = True, smallest: float = SMALLEST) -> float:
        """A number of a sensible size; 0 if it is missing and not required."""
        self.taken.add(key)
        if key not in self.values:
            return self.refuse(key, "is missing") if required else 0
        value: object = self.values[key]
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or value != value:  # not a number
            self.refuse(key, f"must be a number, not {value!r}")
        assert isinstance(value, (int, float))
        if value <= 0:
            self.refuse(key, f"must be more than 0, not {value}")
        if value < smallest:
            self.refuse(key, f"must be at least {smallest:g}, not {value:g}")
        # Compared before it is converted: an integer can be too large for a float.
        if value >= LARGEST:
            self.refuse(key, f"must be below {LARGEST:,.0f}")
        return float(value)

    def text(self, key: str) -> str:
        value: str = self.take(key, str)
        return value if value.strip() else self.refuse(key, "must not be empty")

    def texts(self, key: str) -> tuple[str, ...]:
        values = self.take(key, list, [])
        if not all(isinstance(value, str) and value.strip() for value in values):
            self.refuse(key, "must be a list of texts")
        return tuple(values)

    def one_of(self, key: str, choices: tuple[str, ...], default: Any = _REQUIRED) -> str:
        value: str = self.take(key, str, default)
        if value not in choices:
            self.refuse(key, f"must be one of {', '.join(choices)}")
        return value

    def finish(self, why: str = "is not a known key") -> None:
        unknown = [key for key in self.values if key not in self.taken]
        if unknown:
            self.refuse(unknown[0], why)
