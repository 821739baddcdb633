"""Values of one form differ in nothing but numbers."""

from __future__ import annotations

import pytest

from diffprof.counting.derivation.forms import Forms

VALUES = {"costs": (("conv", 3, None), ("loop", 4, ("a",))), "text": "image 512x512"}


def test_values_that_differ_in_numbers_have_one_form() -> None:
    forms = Forms()
    other = {"costs": (("conv", 7, None), ("loop", 9, ("a",))), "text": "image 1024x768"}
    assert forms.form(VALUES) == forms.form(other)


@pytest.mark.parametrize(
    "other",
    [
        {**VALUES, "text": "video 512x512"},
        {**VALUES, "costs": (("conv", 3, None),)},
        {**VALUES, "costs": (("conv", True, None), ("loop", 4, ("a",)))},
        {**VALUES, "costs": (("conv", 3.0, None), ("loop", 4, ("a",)))},
        {"text": VALUES["text"], "costs": VALUES["costs"]},
    ],
)
def test_what_differs_in_anything_else_has_another(other: dict[str, object]) -> None:
    forms = Forms()
    assert forms.form(VALUES) != forms.form(other)
