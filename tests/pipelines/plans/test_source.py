"""A model that is given by name or by path is found, or refused with advice."""

from __future__ import annotations

from pathlib import Path

import pytest

import diffprof
from diffprof.errors import RequestError


def test_an_unknown_model_is_rejected_with_the_nearest_names() -> None:
    with pytest.raises(RequestError, match=r"did you mean sdxl"):
        diffprof.profile("sdlx")


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "~/nowhere-at-all"])
def test_a_missing_folder_is_rejected(name: str) -> None:
    with pytest.raises(RequestError, match="no folder"):
        diffprof.profile(name)


def test_a_file_is_rejected_as_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    for name in ("p.json", "./p.json", tmp_path / "p.json"):
        with pytest.raises(RequestError):
            diffprof.profile(name)
