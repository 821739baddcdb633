"""``diffprof memory``"""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from tests.cli.conftest import Run

MIB = 1024**2


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """100 MiB that are allocated, and 50 that are not."""
    blocks = [
        {"address": 1, "size": 100 * MIB, "state": "active_allocated", "frames": []},
        {"address": 2, "size": 50 * MIB, "state": "inactive", "frames": []},
    ]
    content = {"segments": [{"device": 0, "address": 1, "total_size": 150 * MIB, "blocks": blocks}]}
    file = tmp_path / "s.pickle"
    file.write_bytes(pickle.dumps(content))
    return str(file)


def test_a_snapshot_is_printed_as_json_and_written_as_a_page(run: Run, snapshot: str, tmp_path: Path) -> None:
    page = tmp_path / "s.html"
    ended = run("memory", snapshot, "--json", "--html", str(page))
    (device,) = json.loads(ended.out)["devices"]
    assert (ended.code, device["peak_bytes"], device["reserved_bytes"]) == (0, 100 * MIB, 150 * MIB)
    assert "s.pickle" in page.read_text()


def test_a_table_without_rows_is_refused(run: Run, snapshot: str) -> None:
    ended = run("memory", snapshot, "--top", "0")
    assert (ended.code, ended.out) == (2, "") and "--top must be 1 or more, not 0." in ended.err


def test_a_saved_profile_is_not_taken_for_a_pickle(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text("{}")
    assert "p.json is JSON, not a memory snapshot" in run("memory", str(file)).err


def test_what_is_no_snapshot_is_refused(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "s.pickle"
    file.write_bytes(pickle.dumps(7))
    ended = run("memory", str(file))
    assert ended.code != 0 and "is not a memory snapshot of torch" in ended.err
