"""Taking values out of untrusted JSON: each has the type that was asked for, or a `FileFormatError` names its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diffprof.errors import FileFormatError


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
        return value

    def count_or_none(self, key: str) -> int | None:
        return None if self.get(key) is None else self.count(key)

    def fields(self, key: str) -> Fields:
        return Fields(self.get(key), self.place(key))

    def list_of(self, key: str, kind: type) -> list[Any]:
        value = self.get(key)
        if not isinstance(value, list) or any(type(item) is not kind for item in value):
            raise damaged(f"{self.place(key)} is not a list of {_NAMES[kind]}")
        if kind is int and any(item < 0 for item in value):
            raise damaged(f"{self.place(key)} holds a negative number")
        return value

    def table(self, key: str, columns: Sequence[str], kinds: Sequence[type]) -> list[list[Any]]:
        """The rows of a compact table, each cell of the type its column has."""
        table = self.fields(key)
        if table.list_of("columns", str) != list(columns):
            raise damaged(f"{self.place(key)} does not have the columns {', '.join(columns)}")
        rows = table.list_of("rows", list)
        expected = list(kinds)
        numbers = [place for place, kind in enumerate(kinds) if kind is int]
        for number, row in enumerate(rows):
            if list(map(type, row)) != expected or any(row[place] < 0 for place in numbers):
                raise damaged(f"row {number} of {self.place(key)} does not fit its columns")
        return rows

    def expect(self, key: str, value: int) -> None:
        """Check a derived figure: written for machine readers, it must be what the parts add up to."""
        if self.count(key) != value:
            raise damaged(f"{self.place(key)} is {self.values[key]:,}, but its parts add up to {value:,}")


_NAMES = {str: "texts", int: "whole numbers", list: "lists", dict: "objects"}
