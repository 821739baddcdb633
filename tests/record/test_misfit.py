"""A value that does not fit is named by the fields, items and rows around it."""

from __future__ import annotations

import pytest

from diffprof.errors import FileFormatError
from diffprof.record.misfit import Misfit, inside


def test_each_field_and_item_around_a_misfit_is_added_in_front() -> None:
    misfit = Misfit("is missing").inside("note").inside(1).inside("inners").inside("outer")
    assert misfit.place == "outer.inners[1].note"


def test_a_block_adds_its_fields_to_a_misfit_raised_in_it_the_outermost_first() -> None:
    with pytest.raises(Misfit) as raised, inside("components", "unet"), inside("modules", 3):
        raise Misfit("is not a text", "path")
    assert raised.value.place == "components.unet.modules[3].path"


def test_the_message_says_whether_the_profile_was_read_or_written() -> None:
    misfit = Misfit("is not a whole number", "steps.count")
    read, written = misfit.when_reading(), misfit.when_writing()
    assert str(read) == "The profile is damaged: steps.count is not a whole number."
    assert str(written) == "The profile cannot be saved: steps.count is not a whole number."
    assert isinstance(read, FileFormatError)
    assert isinstance(written, FileFormatError)


def test_a_misfit_in_a_table_is_named_by_its_row() -> None:
    misfit = Misfit("has no start", row=7).inside("samples")
    assert str(misfit.when_reading()) == "The profile is damaged: row 7 of samples has no start."


def test_a_misfit_without_a_place_is_that_of_the_file() -> None:
    assert str(Misfit("is empty").when_reading()) == "The profile is damaged: the file is empty."


def test_a_block_without_a_misfit_changes_no_other_error() -> None:
    with pytest.raises(KeyError, match="other"), inside("components"):
        raise KeyError("other")
