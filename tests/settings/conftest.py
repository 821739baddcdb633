"""A test reads settings in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.config import OPTIONS


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, with a user who has set nothing."""
    for option in OPTIONS.values():
        monkeypatch.delenv(option.variable, raising=False)
    monkeypatch.delenv("DIFFPROF_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path
