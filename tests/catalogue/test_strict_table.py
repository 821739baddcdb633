"""A table of a TOML file hands out what was checked, and names the key that is wrong."""

from __future__ import annotations

import pytest

from diffprof.catalogue.strict_table import StrictTable
from diffprof.errors import FileFormatError


def test_keys_are_handed_out_with_their_types() -> None:
    table = StrictTable({"name": "a", "count": 2, "peak": 1.5, "tags": ["x"], "side": "left"}, "file")
    assert (table.text("name"), table.take("count", int), table.number("peak")) == ("a", 2, 1.5)
    assert (table.texts("tags"), table.one_of("side", ("left", "right"))) == (("x",), "left")
    assert table.take("missing", str, None) is None
    table.finish()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "In file: count is missing."),
        ({"count": "2"}, "In file: count must be a whole number, not '2'."),
        ({"count": True}, "In file: count must be a whole number, not True."),
        ({"count": 0}, "In file: count must be at least 1, not 0."),
        ({"count": 1, "cuont": 2}, "In file: cuont is not a known key."),
    ],
)
def test_a_wrong_key_is_named(values: dict[str, object], message: str) -> None:
    table = StrictTable(values, "file")
    with pytest.raises(FileFormatError) as rejected:
        table.take("count", int)
        table.finish()
    assert str(rejected.value) == message


def test_what_is_not_a_table_is_rejected() -> None:
    with pytest.raises(FileFormatError, match="In file: this must be a table"):
        StrictTable([], "file")


def test_a_count_may_be_zero_where_the_file_allows_it() -> None:
    assert StrictTable({"count": 0}, "file", smallest=0).take("count", int) == 0


@pytest.mark.parametrize("number", [10**400, float("inf"), float("nan"), -(10**400), True, "1"])
def test_a_number_that_nothing_has_is_refused(number: object) -> None:
    with pytest.raises(FileFormatError, match="In file: peak must be"):
        StrictTable({"peak": number}, "file").number("peak")


def test_a_whole_number_that_no_model_has_is_refused() -> None:
    with pytest.raises(FileFormatError, match="parameters must be at most 9,223,372,036,854,775,807"):
        StrictTable({"parameters": 10**85}, "mine.toml").take("parameters", int)
