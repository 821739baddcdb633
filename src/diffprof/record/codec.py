"""Convert records to JSON values and back, derived from the fields of their dataclasses.

Files are untrusted: decoded values have the types of the fields, numbers are finite and not negative, and a
`DecodingError` names the field that does not fit. `format_rules` lists the exceptions of the format.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NoReturn, Protocol

from diffprof.record.checks import CHECKS
from diffprof.record.decoding_error import DecodingError, inside
from diffprof.record.format_rules import ADDED, DERIVED, INLINE_FIELDS, OMITTED, TABLE_ROWS

# JSON allows larger and even infinite numbers; sums and ratios of numbers up to this limit stay finite.
LARGEST = 1e100


class Codec(Protocol):
    """Encodes and decodes values of one type."""

    def encode(self, value: Any) -> Any: ...

    def decode(self, value: Any) -> Any: ...


class Scalar:
    """A string, a number or a flag."""

    def __init__(self, types: Iterable[type], message: str) -> None:
        self.types = frozenset(types)
        self.message = message
        self.is_numeric = bool(self.types & {int, float})

    def encode(self, value: Any) -> Any:
        if float in self.types and not math.isfinite(value):
            raise DecodingError(f"is not a plain value ({value})")
        return value

    def decode(self, value: Any) -> Any:
        # Not isinstance: JSON's true is an int in Python.
        if type(value) not in self.types or (self.is_numeric and not value >= 0):
            raise DecodingError(self.message)
        if self.is_numeric and value > LARGEST:
            raise DecodingError("is too large")
        return value


TEXT = Scalar([str], "is not a text")
FLAG = Scalar([bool], "is neither true nor false")
COUNT = Scalar([int], "is not a whole number of 0 or more")
NUMBER = Scalar([int, float], "is not a number of 0 or more")
SCALARS = {str: TEXT, bool: FLAG, int: COUNT, float: NUMBER}
PLURALS = {TEXT: "texts", COUNT: "whole numbers", NUMBER: "numbers", FLAG: "flags"}


class Plain:
    """Any value that JSON can represent exactly."""

    def encode(self, value: Any) -> Any:
        if value is None or isinstance(value, str | bool | int):
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return _encode_mapping(self, value)
        if isinstance(value, list | tuple):
            return _encode_sequence(self, value)
        raise DecodingError(f"is not a plain value ({type(value).__name__})")

    def decode(self, value: Any) -> Any:
        return value


class Nullable:
    """A value, or null."""

    def __init__(self, inner: Codec) -> None:
        self.inner = inner

    def encode(self, value: Any) -> Any:
        return None if value is None else self.inner.encode(value)

    def decode(self, value: Any) -> Any:
        return None if value is None else self.inner.decode(value)


class ListOf:
    """A tuple, as a list."""

    def __init__(self, item: Codec) -> None:
        self.item = item
        self.plural = PLURALS.get(item, "objects" if isinstance(item, RecordCodec | ObjectOf) else "lists")  # type: ignore[call-overload]

    def encode(self, value: Any) -> Any:
        return list(value) if self.item in (TEXT, COUNT) else _encode_sequence(self.item, value)

    def decode(self, value: Any) -> Any:
        if type(value) is not list:
            self._refuse()
        if isinstance(self.item, Scalar):
            if not _fits(self.item, value):
                self._refuse()
            return tuple(value)
        expected = dict if self.plural == "objects" else list
        if any(type(item) is not expected for item in value):
            self._refuse()
        return tuple(decode_items(self.item, value))

    def _refuse(self) -> NoReturn:
        raise DecodingError(f"is not a list of {self.plural}")


class ObjectOf:
    """A mapping from strings to values of one type."""

    def __init__(self, item: Codec) -> None:
        self.item = item

    def encode(self, value: Any) -> Any:
        return _encode_mapping(self.item, value)

    def decode(self, value: Any) -> Any:
        return {name: _decode_at(name, self.item, item) for name, item in object_of(value).items()}


class RecordCodec:
    """A dataclass, as an object with a key for each field."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.check = CHECKS.get(kind)
        self.derived = DERIVED.get(kind, ())
        types_of_fields = typing.get_type_hints(kind)
        own = [field.name for field in dataclasses.fields(kind) if field.name not in OMITTED.get(kind, ())]
        self.codecs = {name: codec_of(types_of_fields[name]) for name in own}
        self.added = frozenset((*ADDED.get(kind, ()), *getattr(kind, "added_fields", ())))

    def encode(self, record: Any) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, codec in self.codecs.items():
            value = getattr(record, name)
            if name in INLINE_FIELDS:
                values |= codec.encode(value)
            else:
                values[name] = _encode_at(name, codec, value)
        return values | {name: getattr(record, name) for name in self.derived}

    def decode(self, value: Any, **omitted: Any) -> Any:
        values = object_of(value)
        fields = {
            name: codec.decode(values) if name in INLINE_FIELDS else _decode_at(name, codec, _get(values, name))
            for name, codec in self.codecs.items()
            if name in values or name not in self.added
        }
        record = self.kind(**fields, **omitted)
        for name in self.derived:
            check_derived(values, name, getattr(record, name))
        if self.check is not None:
            self.check(record)
        return record


class Table:
    """A tuple of records, as the names of the columns and the rows."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.codecs: dict[str, Codec] = {}
        self.groups: list[tuple[type | None, list[str]]] = []
        paths = []
        types_of_fields = typing.get_type_hints(kind)
        for field in dataclasses.fields(kind):
            inner = types_of_fields[field.name]
            if field.name in INLINE_FIELDS:
                inline = {name: codec_of(typing.get_type_hints(inner)[name]) for name in _field_names(inner)}
                self.codecs |= inline
                self.groups.append((inner, list(inline)))
                paths += [f"{field.name}.{name}" for name in inline]
            else:
                self.codecs[field.name] = codec_of(inner)
                self.groups.append((None, [field.name]))
                paths.append(field.name)
        self.columns = list(self.codecs)
        self.read = attrgetter(*paths)
        defaults = {field.name: field.default for field in dataclasses.fields(kind)}
        self.added = {name: defaults[name] for name in ADDED.get(kind, ())}

    def encode(self, records: Any) -> dict[str, Any]:
        rows = [list(self.read(record)) for record in records]
        for place, codec in enumerate(self.codecs.values()):
            if codec in (TEXT, COUNT, FLAG):
                continue
            with inside("rows"):
                for number, row in enumerate(rows):
                    row[place] = _encode_cell(number, place, codec, row[place])
        return {"columns": list(self.columns), "rows": rows}

    def decode(self, value: Any) -> tuple[Any, ...]:
        values = object_of(value)
        names = _decode_at("columns", ListOf(TEXT), _get(values, "columns"))
        missing = [name for name in self.added if name not in names]
        if sorted([*names, *missing]) != sorted(self.columns):
            raise DecodingError(f"does not have the columns {', '.join(self.columns)}")
        rows = _get(values, "rows")
        if type(rows) is not list or any(type(row) is not list for row in rows):
            raise DecodingError("is not a list of lists").inside("rows")
        for number, row in enumerate(rows):
            if len(row) != len(names):
                raise DecodingError("does not fit its columns", row=number)
        if not rows:
            return ()
        cells = dict(zip(names, zip(*rows, strict=True), strict=True))
        columns: dict[str, Sequence[Any]] = {name: [self.added[name]] * len(rows) for name in missing}
        columns |= {name: _decode_column(codec, cells[name]) for name, codec in self.codecs.items() if name in cells}
        return self._records(columns)

    def _records(self, columns: Mapping[str, Sequence[Any]]) -> tuple[Any, ...]:
        arguments = []
        for inner, names in self.groups:
            if inner is None:
                arguments.append(columns[names[0]])
            else:
                arguments.append([*map(inner, *(columns[name] for name in names))])
                self._check_rows(inner, arguments[-1])
        return tuple(map(self.kind, *arguments))

    def _check_rows(self, kind: type, records: Sequence[Any]) -> None:
        check = CHECKS.get(kind)
        if check is None:
            return
        for number, record in enumerate(records):
            _check_row(number, check, record)


@cache
def codec_of(kind: Any) -> Codec:
    """Return the codec for the type of a field."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return Plain()
    if kind in SCALARS:
        return SCALARS[kind]
    if dataclasses.is_dataclass(kind):
        return RecordCodec(kind)  # type: ignore[arg-type]
    if origin in (types.UnionType, typing.Union) and types.NoneType in arguments:
        (inner,) = [argument for argument in arguments if argument is not types.NoneType]
        return Nullable(codec_of(inner))
    if origin is tuple:
        item = arguments[0]
        return Table(item) if item in TABLE_ROWS else ListOf(codec_of(item))
    if origin is Mapping:
        return ObjectOf(codec_of(arguments[1]))
    raise TypeError(f"a profile cannot hold a {kind}")


def object_of(value: Any) -> dict[str, Any]:
    """Check that a value is an object."""
    if type(value) is not dict:
        raise DecodingError("is not an object")
    return value


def check_derived(values: Mapping[str, Any], name: str, expected: int) -> None:
    """Check a number that is written for other readers: it must be the sum of its parts."""
    written = _decode_at(name, COUNT, _get(values, name))
    if written != expected:
        raise DecodingError(f"is {written:,}, but its parts add up to {expected:,}", name)


def decode_field(values: Mapping[str, Any], name: str, kind: Any) -> Any:
    """Decode the value of one key of an object."""
    return _decode_at(name, codec_of(kind), _get(values, name))


def encode_field(name: str, kind: Any, value: Any) -> Any:
    """Encode the value of a key; an error names the key."""
    return _encode_at(name, codec_of(kind), value)


def decode_items(codec: Codec, values: Iterable[Any]) -> Iterable[Any]:
    for number, value in enumerate(values):
        yield _decode_at(number, codec, value)


def _decode_at(name: str | int, codec: Codec, value: Any) -> Any:
    try:
        return codec.decode(value)
    except DecodingError as error:
        raise error.inside(name) from None


def _encode_at(name: str | int, codec: Codec, value: Any) -> Any:
    try:
        return codec.encode(value)
    except DecodingError as error:
        raise error.inside(name) from None


def _encode_sequence(codec: Codec, values: Iterable[Any]) -> list[Any]:
    return [_encode_at(number, codec, value) for number, value in enumerate(values)]


def _encode_mapping(codec: Codec, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _encode_at(name, codec, value) for name, value in values.items()}


def _get(values: Mapping[str, Any], name: str) -> Any:
    if name not in values:
        raise DecodingError("is missing", name)
    return values[name]


def _field_names(kind: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


def _decode_column(codec: Codec, cells: Sequence[Any]) -> Sequence[Any]:
    """Decode the cells of a column together, because most of a file is tables."""
    scalar = codec.inner if isinstance(codec, Nullable) else codec
    if isinstance(scalar, Scalar):
        present = [cell for cell in cells if cell is not None] if isinstance(codec, Nullable) else cells
        if _fits(scalar, present):
            return cells
    return [_decode_cell(number, codec, cell) for number, cell in enumerate(cells)]


def _decode_cell(row: int, codec: Codec, cell: Any) -> Any:
    try:
        return codec.decode(cell)
    except DecodingError:
        raise DecodingError("does not fit its columns", row=row) from None


def _encode_cell(row: int, place: int, codec: Codec, value: Any) -> Any:
    try:
        return codec.encode(value)
    except DecodingError as error:
        raise error.inside(place).inside(row) from None


def _check_row(row: int, check: Callable[[Any], None], record: Any) -> None:
    try:
        check(record)
    except DecodingError as error:
        raise DecodingError(error.message, row=row) from None


def _fits(scalar: Scalar, values: Sequence[Any]) -> bool:
    """Whether all values have the type and are in its range."""
    if not set(map(type, values)) <= scalar.types:
        return False
    if not scalar.is_numeric or not values:
        return True
    if float in scalar.types:
        # Not by min and max, because NaN is not ordered.
        return all(0 <= value <= LARGEST for value in values)
    return bool(min(values) >= 0 and max(values) <= LARGEST)
