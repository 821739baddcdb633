"""A value that does not fit is named by the fields, items and rows around it."""

from __future__ import annotations

import pytest

from diffprof.errors import FileFormatError
from diffprof.record.decoding_error import DecodingError, inside


def test_each_field_and_item_around_an_error_is_added_in_front() -> None:
    error = DecodingError("is missing").inside("note").inside(1).inside("inners").inside("outer")
    assert error.place == "outer.inners[1].note"


def test_a_block_adds_its_fields_to_an_error_raised_in_it_the_outermost_first() -> None:
    with pytest.raises(DecodingError) as raised, inside("components", "unet"), inside("modules", 3):
        raise DecodingError("is not a text", "path")
    assert raised.value.place == "components.unet.modules[3].path"


def test_the_message_says_whether_the_profile_was_read_or_written() -> None:
    error = DecodingError("is not a whole number", "steps.count")
    read, written = error.when_reading(), error.when_writing()
    assert str(read) == "The profile is damaged: steps.count is not a whole number."
    assert str(written) == "The profile cannot be saved: steps.count is not a whole number."
    assert isinstance(read, FileFormatError)
    assert isinstance(written, FileFormatError)


def test_an_error_in_a_table_is_named_by_its_row() -> None:
    error = DecodingError("has no start", row=7).inside("samples")
    assert str(error.when_reading()) == "The profile is damaged: row 7 of samples has no start."


def test_an_error_without_a_path_names_the_file() -> None:
    assert str(DecodingError("is empty").when_reading()) == "The profile is damaged: the file is empty."


def test_a_block_without_a_decoding_error_changes_no_other_error() -> None:
    with pytest.raises(KeyError, match="other"), inside("components"):
        raise KeyError("other")
