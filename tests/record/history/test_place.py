"""Where the history is kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from diffprof.record.history import History
from diffprof.record.history.place import default_path


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the XDG folders are those of Linux")
def test_the_history_is_in_the_data_folder_of_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DIFFPROF_HISTORY", str(tmp_path / "mine.sqlite"))
    assert History().path == tmp_path / "mine.sqlite"
    monkeypatch.setenv("DIFFPROF_HISTORY", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "diffprof" / "history.sqlite"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert default_path() == Path.home() / ".local" / "share" / "diffprof" / "history.sqlite"
