"""A record shows itself with a renderer that is imported only when it is printed."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from diffprof.record import display


class Sum(display.Displayed):
    left, right = 2, 3


def test_a_record_is_shown_by_the_renderer_of_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "renderers", SimpleNamespace(show=lambda record: record.left + record.right))  # type: ignore[arg-type]
    monkeypatch.setitem(display.TEXT, "Sum", "renderers:show")
    monkeypatch.setitem(display.HTML, "Sum", "renderers:show")
    assert str(Sum()) == Sum()._repr_html_() == "5"


@pytest.mark.parametrize("place", [*display.TEXT.values(), *display.HTML.values()])
def test_every_renderer_that_is_named_exists(place: str) -> None:
    assert callable(display.find_function(place))
