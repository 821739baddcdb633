"""A snapshot of a memory that ran out is explained beside it, and nothing that goes wrong there hides the error."""

from __future__ import annotations

import pickle
from pathlib import Path

from diffprof.traces.memory.out_of_memory import explained_files
from tests.runtime.allocators import SNAPSHOT


def test_a_snapshot_gets_its_explanation_beside_it(tmp_path: Path) -> None:
    snapshot = tmp_path / "memory_snapshot.pickle"
    snapshot.write_bytes(pickle.dumps(SNAPSHOT))
    files = explained_files(snapshot)
    assert files == [snapshot, tmp_path / "memory_snapshot.txt"]
    text = " ".join(files[1].read_text(encoding="utf-8").split())
    assert "400.00 MB allocated when it was taken" in text
    assert "500.00 MB reserved at the end, of which 400.00 MB are allocated and 100.00 MB are not" in text


def test_where_there_is_no_snapshot_there_is_nothing_to_explain() -> None:
    assert explained_files(None) == []


def test_a_snapshot_that_cannot_be_explained_is_still_there(tmp_path: Path) -> None:
    snapshot = tmp_path / "memory_snapshot.pickle"
    snapshot.write_bytes(pickle.dumps({"something": "else"}))
    assert explained_files(snapshot) == [snapshot]
