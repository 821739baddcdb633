"""A record shows itself with a renderer that is imported only when it is printed."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from diffprof.record import display


def test_the_renderer_of_a_record_is_called_with_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "renderers", SimpleNamespace(show=lambda left, right: left + right))  # type: ignore[arg-type]
    monkeypatch.setitem(display.TEXT, "Sum", "renderers:show")
    assert display.text_of("Sum", 2, 3) == "5"


def test_every_renderer_that_is_named_exists() -> None:
    for place in display.TEXT.values():
        module, _, function = place.partition(":")
        assert callable(getattr(__import__(module, fromlist=[function]), function))
