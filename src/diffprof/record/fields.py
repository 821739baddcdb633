"""Taking values out of untrusted JSON: each has the type that was asked for, or a `FileFormatError` names its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import UnionType
from typing import Any, TypeVar, get_args

from diffprof.errors import FileFormatError

_Number = TypeVar("_Number", int, float)


def damaged(why: str) -> FileFormatError:
    """The error for a file that was a profile once."""
    return FileFormatError(f"The profile is damaged: {why}.")


class Fields:
    """An object of the file and where it stands, so that an error can say which field is wrong."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise damaged(f"{where or 'the file'} is not an object")
        self.values: dict[str, Any] = value
        self.where = where

    def place(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def get(self, key: str) -> Any:
        if key not in self.values:
            raise damaged(f"{self.place(key)} is missing")
        return self.values[key]

    def text(self, key: str) -> str:
        value = self.get(key)
        if type(value) is not str:
            raise damaged(f"{self.place(key)} is not a text")
        return value

    def text_or_none(self, key: str) -> str | None:
        return None if self.get(key) is None else self.text(key)

    def count(self, key: str) -> int:
        """A whole number, not negative. Not ``isinstance``: JSON's ``true`` is an ``int`` in Python."""
        value = self.get(key)
        if type(value) is not int or value < 0:
            raise damaged(f"{self.place(key)} is not a whole number of 0 or more")
        return self._credible(key, value)

    def count_or_none(self, key: str) -> int | None:
        return None if self.get(key) is None else self.count(key)

    def counts(self, key: str) -> dict[str, int]:
        """Whole numbers by name."""
        named = self.fields(key)
        return {name: named.count(name) for name in named.values}

    def number(self, key: str) -> float:
        """A finite number, not negative; a whole one is as good."""
        value = self.get(key)
        if type(value) not in (int, float) or not value >= 0:
            raise damaged(f"{self.place(key)} is not a number of 0 or more")
        return self._credible(key, value)

    def _credible(self, key: str, value: _Number) -> _Number:
        if value > _LARGEST:
            raise damaged(f"{self.place(key)} is larger than anything can be")
        return value

    def number_or_none(self, key: str) -> float | None:
        return None if self.get(key) is None else self.number(key)

    def flag(self, key: str) -> bool:
        value = self.get(key)
        if type(value) is not bool:
            raise damaged(f"{self.place(key)} is neither true nor false")
        return value

    def fields(self, key: str) -> Fields:
        return Fields(self.get(key), self.place(key))

    def list_of(self, key: str, kind: type) -> list[Any]:
        value = self.get(key)
        if not isinstance(value, list) or any(type(item) is not kind for item in value):
            raise damaged(f"{self.place(key)} is not a list of {_NAMES[kind]}")
        if kind is int and not all(0 <= item <= _LARGEST for item in value):
            raise damaged(f"{self.place(key)} holds a number that is negative or larger than anything can be")
        return value

    def table(self, key: str, columns: Sequence[str], kinds: Sequence[type | UnionType]) -> list[list[Any]]:
        """The rows of a compact table, each cell of the type its column has; ``int | None`` may be null."""
        table = self.fields(key)
        if table.list_of("columns", str) != list(columns):
            raise damaged(f"{self.place(key)} does not have the columns {', '.join(columns)}")
        rows = table.list_of("rows", list)
        fits = _row_check(kinds)
        for number, row in enumerate(rows):
            if not fits(row):
                raise damaged(f"row {number} of {self.place(key)} does not fit its columns")
        return rows

    def expect(self, key: str, value: int) -> None:
        """Check a derived figure: written for machine readers, it must be what the parts add up to."""
        if self.count(key) != value:
            raise damaged(f"{self.place(key)} is {self.values[key]:,}, but its parts add up to {value:,}")


def _row_check(kinds: Sequence[type | UnionType]) -> Callable[[list[Any]], bool]:
    """Whether a row of a table has the types that its columns have, and no number out of range."""
    columns = [_types_of(kind) for kind in kinds]
    numbers = [place for place, types in enumerate(columns) if int in types]
    # Most rows have the same types as one before them: each combination is compared once.
    fitting: set[tuple[type, ...]] = set()

    def fits(row: list[Any]) -> bool:
        found = tuple(map(type, row))
        if found not in fitting:
            if len(found) != len(columns) or any(kind not in types for kind, types in zip(found, columns, strict=True)):
                return False
            fitting.add(found)
        return all(0 <= (row[place] or 0) <= _LARGEST for place in numbers)

    return fits


def _types_of(kind: type | UnionType) -> frozenset[type]:
    """The types of JSON that a column takes: a whole number stands where a fraction may, ``X | None`` may be null."""
    types = frozenset(get_args(kind) or (kind,))
    return types | {int} if float in types else types


_NAMES = {str: "texts", int: "whole numbers", list: "lists", dict: "objects"}

# JSON can write more, even what becomes infinite; sums and ratios of figures up to here are what they should be.
_LARGEST = 1e100
