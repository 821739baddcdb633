"""Kept runs as people and programs read them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from diffprof.record.history import Filters, History, PruneResult
from diffprof.render import history as render
from diffprof.render.console import render_text
from tests.record.history.kept_runs import four_runs, run_of_length, with_model_name
from tests.sample_profiles import hostile, stable_diffusion

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "history.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def history(tmp_path: Path) -> History:
    return four_runs(tmp_path / "history.sqlite")


def list_text(history: History, width: int = 120, encoding: str = "utf-8", **options: int) -> str:
    runs = history.find(**options)  # type: ignore[arg-type]
    offset = options.get("offset", 0)
    return render_text(lambda console: render.print_runs(runs, history.count(), console, offset), width, encoding)


def trend_text(
    history: History, metric: str, width: int = 120, encoding: str = "utf-8", limit: int | None = None
) -> str:
    trend = history.trend(metric, limit=limit)
    return render_text(lambda console: render.print_trend(trend, console), width, encoding)


@pytest.mark.parametrize("width", [80, 120])
def test_the_list_as_it_looks(width: int, history: History, golden: Callable[[str, str], None]) -> None:
    golden(f"history-list-{width}.txt", list_text(history, width))


@pytest.mark.parametrize("metric", ["wall_seconds", "peak_memory_bytes", "macs", "parameters"])
def test_the_trend_as_it_looks(metric: str, history: History, golden: Callable[[str, str], None]) -> None:
    golden(f"history-trend-{metric}.txt", trend_text(history, metric))


def test_the_number_of_omitted_rows_is_shown(history: History) -> None:
    assert list_text(history, limit=2).endswith("Runs 1 to 2 of 4; --limit shows more\n")
    assert list_text(history, limit=2, offset=2).endswith("Runs 3 to 4 of 4; --limit shows more\n")
    assert list_text(history, offset=7) == "None of 4 runs from number 8 on\n"
    assert trend_text(history, "macs", limit=1).endswith("Series 1 to 1 of 3; --limit shows more\n")
    assert "Columns that do not fit: " in list_text(history, width=60)


def test_a_terminal_without_unicode_gets_signs_that_it_has(history: History) -> None:
    assert trend_text(history, "wall_seconds", encoding="ascii").isascii()
    assert "%#" in trend_text(history, "wall_seconds", encoding="ascii")


def test_a_slower_run_stands_out(tmp_path: Path) -> None:
    history = History(tmp_path / "h.sqlite")
    for times in (1, 1, 2):
        history.add(run_of_length(times), "run")
    (row,) = [line for line in trend_text(history, "wall_seconds").splitlines() if "sd-2.1-base" in line]
    assert "▅▅█" in row
    assert "2.00x" in row


def test_names_cannot_drive_the_terminal(tmp_path: Path) -> None:
    history = History(tmp_path / "h.sqlite")
    history.add(hostile(), "profile", ["[red]tag[/red]"])
    shown = list_text(history, 200) + trend_text(history, "macs", 200) + render.kept_line(history.get_run(1))
    assert "\x1b" not in shown
    assert "[red]tag[/red]" in shown


def test_of_a_long_path_the_end_is_shown(tmp_path: Path) -> None:
    history = History(tmp_path / "h.sqlite")
    history.add(with_model_name(stable_diffusion(), "/a/very/long/way/to/the/folder/of/my-own-model"), "profile")
    assert "...he/folder/of/my-own-model" in list_text(history, 200)


def test_the_list_as_json_keeps_its_schema(history: History) -> None:
    values = json.loads(render.runs_json(history.find(limit=3), history.count()))
    jsonschema.validate(values, SCHEMA)
    assert (values["total"], [run["id"] for run in values["runs"]]) == (4, [4, 3, 2])
    assert values["runs"][1]["tags"] == ["baseline", "nice"]
    assert values["runs"][0]["macs"] == history.get_run(4).macs


@pytest.mark.parametrize("metric", ["wall_seconds", "peak_memory_bytes", "macs", "parameters"])
def test_a_trend_as_json_keeps_its_schema_and_has_every_point(metric: str, history: History) -> None:
    values = json.loads(render.trend_json(history.trend(metric)))
    jsonschema.validate(values, SCHEMA)
    newest = values["series"][0]
    assert [point["run"] for point in newest["points"]] == [2, 4]
    assert newest["points"][-1]["value"] == newest["last"] == getattr(history.get_run(4), metric)


@pytest.mark.parametrize("name", ["runs", "series"])
def test_the_schema_notices_what_is_wrong(name: str, history: History) -> None:
    text = render.runs_json(history.find(), 4) if name == "runs" else render.trend_json(history.trend("macs"))
    values = json.loads(text)
    del values[name][0]["model"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values, SCHEMA)


def test_csv_is_exact_and_rectangular(history: History) -> None:
    runs = list(csv.DictReader(io.StringIO(render.runs_csv(history.find()))))
    assert [int(run["macs"]) for run in runs] == [run.macs for run in history.find()]
    assert (runs[0]["tags"], runs[1]["tags"], runs[3]["wall_seconds"]) == ("", "baseline; nice", "")
    series = list(csv.DictReader(io.StringIO(render.trend_csv(history.trend("macs")))))
    assert [one["runs"] for one in series] == ["2", "1", "1"]
    assert render.trend_csv(history.trend("macs", Filters(model="nobody"))).count("\n") == 1


def test_sentences(history: History) -> None:
    assert render.kept_line(history.get_run(3)) == (
        "Run 3: kept 2026-02-02 12:00 UTC from `diffprof generate`, tagged baseline, nice, with an image"
    )
    assert (
        render.pruned_line(PruneResult(1, 2_100_000, 1), dry_run=True) == "Would remove 1 run, 2.10 MB; 1 run is left"
    )
    assert render.pruned_line(PruneResult(3, 0, 2_000), dry_run=False) == "Removed 3 runs, 0 B; 2,000 runs are left"
