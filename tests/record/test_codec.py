"""Every record and every type that a field can have goes to JSON and back; what does not fit is named by its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import pytest

from diffprof.record.codec import RecordCodec, Table, codec_of
from diffprof.record.decoding_error import DecodingError
from diffprof.record.format_rules import INLINE_FIELDS, TABLE_ROWS
from diffprof.record.measured import Sample, Span
from diffprof.record.profile import Work


@dataclass(frozen=True)
class Inner:
    size: int
    note: str | None = None


@dataclass(frozen=True)
class Outer:
    name: str
    flag: bool
    rate: float
    sizes: tuple[int, ...]
    inners: tuple[Inner, ...]
    limits: Mapping[str, int]
    anything: Mapping[str, Any]
    work: Work


ANYTHING = {"c": [1, None, {"d": 2.5}]}
OUTER = Outer("a", True, 0.5, (1, 2), (Inner(3), Inner(4, "x")), {"b": 5}, ANYTHING, Work(1, 2, 3, 4))
VALUES = {
    "name": "a",
    "flag": True,
    "rate": 0.5,
    "sizes": [1, 2],
    "inners": [{"size": 3, "note": None}, {"size": 4, "note": "x"}],
    "limits": {"b": 5},
    "anything": ANYTHING,
    "macs": 1,
    "other_flops": 2,
    "read_bytes": 3,
    "written_bytes": 4,
    "flops": 2,
}


def test_a_record_is_an_object_with_a_key_for_each_field_and_inline_ones_among_them() -> None:
    assert RecordCodec(Outer).encode(OUTER) == VALUES
    assert RecordCodec(Outer).decode(VALUES) == OUTER


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": 1}, "name is not a text"),
        ({"flag": 1}, "flag is neither true nor false"),
        ({"rate": float("nan")}, "rate is not a number of 0 or more"),
        ({"rate": float("inf")}, "rate is too large"),
        ({"sizes": [1, True]}, "sizes is not a list of whole numbers"),
        ({"sizes": [1, -1]}, "sizes is not a list of whole numbers"),
        ({"inners": [{"size": 3, "note": None}, 4]}, "inners is not a list of objects"),
        ({"inners": [{"size": 3, "note": None}, {"size": 4}]}, "inners[1].note is missing"),
        ({"inners": [{"size": "3", "note": None}]}, "inners[0].size is not a whole number of 0 or more"),
        ({"limits": {"b": 1.5}}, "limits.b is not a whole number of 0 or more"),
        ({"anything": []}, "anything is not an object"),
        ({"macs": 10**101}, "macs is too large"),
        ({"flops": 3}, "flops is 3, but its parts add up to 2"),
    ],
)
def test_a_value_that_does_not_fit_is_named_by_its_path(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DecodingError) as error:
        RecordCodec(Outer).decode(VALUES | change)
    assert str(error.value.when_reading()) == f"The profile is damaged: {sentence}."


@pytest.mark.parametrize("record", TABLE_ROWS, ids=lambda record: record.__name__)
def test_no_field_of_a_row_is_forgotten_in_its_table(record: Any) -> None:
    own = {field.name for field in fields(record)}
    assert own - set(INLINE_FIELDS) <= set(Table(record).columns)
    assert len(Table(record).columns) == len(set(Table(record).columns))


def test_a_table_names_its_columns_once_and_is_read_in_any_order_of_them() -> None:
    samples = (Sample("a", Span(0, 9)), Sample("b", Span(1, 2, 3, 4), parent=0, failed=True))
    table = codec_of(tuple[Sample, ...]).encode(samples)
    assert table["columns"][:3] == ["section", "start_ns", "host_ns"]
    assert table["rows"][1] == ["b", 1, 2, 3, 4, None, 0, None, None, None, True, None]
    turned = {"columns": table["columns"][::-1], "rows": [row[::-1] for row in table["rows"]]}
    assert codec_of(tuple[Sample, ...]).decode(turned) == samples


def test_a_check_of_a_record_in_a_table_names_the_row() -> None:
    table = codec_of(tuple[Sample, ...]).encode((Sample("a", Span(0, 9)), Sample("b", Span(1, 2, 3, 4))))
    table["rows"][1][3] = None
    with pytest.raises(DecodingError) as error:
        codec_of(tuple[Sample, ...]).decode(table)
    assert str(error.value.inside("samples").when_reading()).endswith(
        "row 1 of samples has only one of start and duration on the device."
    )


def test_a_type_that_no_file_can_hold_is_a_mistake_of_the_programmer() -> None:
    with pytest.raises(TypeError, match="a profile cannot hold"):
        codec_of(set[int])
