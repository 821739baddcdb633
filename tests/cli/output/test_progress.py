"""A progress bar on standard error, only where a terminal shows it."""

from __future__ import annotations

import io
import sys

import pytest

from diffprof.cli.output.progress import progress_bar
from diffprof.record.progress import Activity, ProgressEvent
from diffprof.render.progress import progress_message

EVENT = ProgressEvent(Activity.counting, "unet", 1, 4)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Not a fixture: pytest sets standard error anew for the test itself."""
    for name, value in {"TERM": "xterm", "COLUMNS": "100"}.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def test_an_event_is_shown_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with progress_bar(quiet=False) as progress:
        assert progress is not None
        assert terminal.getvalue() == "", "nothing before the first event"
        progress(EVENT)
    assert progress_message(EVENT) in terminal.getvalue()


def test_quiet_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    with progress_bar(quiet=True) as progress:
        assert progress is None
    assert terminal.getvalue() == ""


def test_a_file_or_a_pipe_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar(quiet=False) as progress:
        assert progress is None
