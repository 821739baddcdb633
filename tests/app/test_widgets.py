"""Event handlers that show their errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from diffprof.app.widgets import show_errors
from diffprof.errors import RequestError


def test_an_error_in_an_event_handler_becomes_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> dict[str, str]:
        raise RequestError("choose a model")

    def fails_later() -> Iterator[dict[str, str]]:
        yield {"message": "half"}
        raise ZeroDivisionError

    assert "Choose a model." in show_errors("message", fails)()["message"]
    half, last = show_errors("message", fails_later)()
    assert half == {"message": "half"}
    assert "This is a bug in diffprof (ZeroDivisionError)" in last["message"]
    assert "ZeroDivisionError" in capsys.readouterr().err
