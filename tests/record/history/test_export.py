"""The history as a table for other programs."""

from __future__ import annotations

import csv
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest

from diffprof.errors import OutputError, RequestError
from diffprof.record.history import Filters, History
from tests.record.history.kept_runs import four_runs, with_model_name
from tests.sample_profiles import stable_diffusion


@pytest.fixture
def history(tmp_path: Path) -> History:
    return four_runs(tmp_path / "history.sqlite")


def test_csv_has_every_number_exactly(history: History, tmp_path: Path) -> None:
    assert history.export(tmp_path / "runs.csv") == 4
    with (tmp_path / "runs.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["id"]) for row in rows] == [1, 2, 3, 4]
    assert [row["tags"] for row in rows] == ["", "baseline", "baseline; nice", ""]
    assert [row["picture"] for row in rows] == ["false", "false", "true", "false"]
    assert int(rows[0]["macs"]) == stable_diffusion().total.macs
    assert rows[0]["wall_seconds"] == ""
    assert float(rows[1]["wall_seconds"]) == history.get_run(2).wall_seconds
    assert rows[0]["created_at"] == "2026-01-31T12:00:00.000000Z"


def test_parquet_has_every_number_with_its_type(history: History, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert history.export(tmp_path / "runs.parquet") == 4
    table = parquet.read_table(tmp_path / "runs.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert types["macs"] == types["id"] == types["peak_memory_bytes"] == types["frames"] == "int64"
    assert (types["wall_seconds"], types["model"], types["picture"]) == ("double", "string", "bool")
    assert types["created_at"] == "timestamp[us, tz=UTC]"
    rows = table.to_pylist()
    for row in rows:
        kept = vars(history.get_run(row["id"]))
        moment = datetime.fromisoformat(kept["created_at"].replace("Z", "+00:00"))
        assert row == {**kept, "created_at": moment, "tags": list(kept["tags"])}
    assert rows[0]["created_at"] == datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_only_matching_runs_are_written(ending: str, history: History, tmp_path: Path) -> None:
    assert history.export(tmp_path / f"runs.{ending}", Filters(kind="run")) == 2
    assert history.export(tmp_path / f"none.{ending}", Filters(model="nobody")) == 0
    assert (tmp_path / f"none.{ending}").stat().st_size > 0


def test_an_ending_that_is_not_known_is_rejected(history: History, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"use \.csv or \.parquet"):
        history.export(tmp_path / "runs.xlsx")


def test_without_pyarrow_a_message_says_how_to_install_it(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RequestError, match=r"pip install 'diffprof\[parquet\]'"):
        history.export(tmp_path / "runs.parquet")
    assert history.export(tmp_path / "runs.csv") == 4
    assert not (tmp_path / "runs.parquet").exists()


def test_a_file_that_cannot_be_written_leaves_nothing_behind(history: History, tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        history.export(tmp_path / "no folder" / "runs.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["history.sqlite"]


def test_names_with_commas_quotes_and_lines_stay_one_cell(tmp_path: Path) -> None:
    history = History(tmp_path / "h.sqlite")
    history.add(with_model_name(stable_diffusion(), 'a,"b"\nc'), "profile")
    history.export(tmp_path / "runs.csv")
    with (tmp_path / "runs.csv").open(newline="", encoding="utf-8") as file:
        assert [row["model"] for row in csv.DictReader(file)] == ['a,"b"\nc']
