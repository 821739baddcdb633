"""``diffprof history`` and ``--keep``."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import diffprof
from diffprof.cli.commands import history as command
from diffprof.comparison.counts import METRICS as COUNTS
from diffprof.record.history import KINDS, METRICS, ORDERS, History, default_path
from tests.children import run_child
from tests.cli.conftest import Engine, Run, image_bytes, kept_ids
from tests.record.history.kept_runs import four_runs, run_of_length
from tests.record.history.test_row_checks import change
from tests.sample_profiles import stable_diffusion


@pytest.fixture
def history() -> History:
    return four_runs(default_path())


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@pytest.mark.parametrize(
    "arguments",
    [["profile", "sdxl", "--keep"], ["history", "tag", "1", "x"], ["history", "prune", "--keep", "0"]],
)
def test_a_locked_history_is_one_message_and_exit_code_2(
    arguments: list[str], history: History, run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = partial(History, timeout_seconds=0.05)
    monkeypatch.setattr("diffprof.record.history.History", impatient)
    monkeypatch.setattr(command, "History", impatient)
    with locked(history.path):
        ended = run(*arguments)
        assert run("history", "list").code == 0
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert bool(ended.out) == (arguments[0] == "profile"), "a profile is shown all the same"
    assert "is locked by another process; try again" in ended.err
    assert history.count() == 4


def foreign(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE songs (title)")


def newer(path: Path) -> None:
    four_runs(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 9")


def damaged(path: Path) -> None:
    four_runs(path)
    path.write_bytes(path.read_bytes()[:20_000])


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["show", "1"],
        ["trend"],
        ["tag", "1", "x"],
        ["export", "runs.csv"],
        ["prune", "--keep", "0"],
        ["prune", "--keep", "0", "--dry-run"],
        ["compare", "1", "2"],
    ],
)
@pytest.mark.parametrize(
    ("make", "words"), [(foreign, "another program"), (newer, "upgrade diffprof"), (damaged, "is damaged")]
)
def test_a_file_that_is_not_a_history_is_rejected_and_unchanged(
    arguments: list[str], make: object, words: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(default_path())  # type: ignore[operator]
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    ended = run("history", *arguments)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert words in ended.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_list_is_a_table_json_or_csv(history: History, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    shown = run("history", "list").out
    assert [line.split()[0] for line in shown.splitlines()[2:6]] == ["4", "3", "2", "1"]
    assert shown.endswith("4 runs\n")
    assert run("history").out == shown
    assert [one["id"] for one in json.loads(run("history", "list", "--json").out)["runs"]] == [4, 3, 2, 1]
    rows = csv.DictReader(io.StringIO(run("history", "list", "--csv").out))
    assert [row["id"] for row in rows] == ["4", "3", "2", "1"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--model", "sd-2.1-base"], [4, 2, 1]),
        (["--kind", "generate"], [3]),
        (["--since", "2026-02-02"], [4, 3]),
        (["--until", "2026-02-01"], [2, 1]),
        (["--since", "2026-02-01T13:00+01:00", "--until", "2026-02-02T11:59"], [2]),
        (["--tag", "baseline"], [3, 2]),
        (["--device", "cuda"], [3]),
        (["--dtype", "fp16"], [4, 3, 2, 1]),
        (["--text", "other"], [3]),
        (["--order", "time"], [4, 2, 3, 1]),
        (["--reverse"], [1, 2, 3, 4]),
        (["--limit", "2", "--offset", "1"], [3, 2]),
    ],
)
def test_options_filter_and_order_the_runs(
    arguments: list[str], expected: list[int], history: History, run: Run
) -> None:
    assert kept_ids(run, *arguments) == expected


def test_an_age_is_counted_from_now(run: Run) -> None:
    History().add(stable_diffusion(), "profile")
    assert kept_ids(run, "--since", "1h") == [1]
    assert kept_ids(run, "--until", "1h") == []


def test_the_choices_are_those_of_the_history() -> None:
    assert tuple(one.value for one in command.RunKind) == KINDS
    assert tuple(command.COLUMNS.get(one.value, one.value) for one in command.Metric) == METRICS
    assert tuple(command.COLUMNS.get(one.value, one.value) for one in command.Order) == ORDERS
    assert {"time", "peak_memory"} & {*COUNTS, "time"} == set(command.COLUMNS), "the names that a gate knows"


def test_an_empty_history_says_so_and_is_not_an_error(run: Run) -> None:
    for arguments in (["list"], ["trend"]):
        ended = run("history", *arguments)
        assert ended.code == 0
        assert f"Nothing is kept in {default_path()} yet" in ended.out
    assert json.loads(run("history", "list", "--json").out)["runs"] == []
    assert not default_path().exists()


def test_a_search_without_matches_says_so(history: History, run: Run) -> None:
    assert run("history", "list", "--model", "nobody").out == "No kept run matches.\n"
    assert run("history", "trend", "--model", "nobody").out == "No kept run matches.\n"


def test_a_run_is_shown_like_a_saved_profile(history: History, run: Run, tmp_path: Path) -> None:
    saved = str(history.get(2).save(tmp_path / "p.json"))
    first, rest = run("history", "show", "2").out.split("\n", 1)
    assert first == "Run 2: kept 2026-02-01 12:00 UTC from `diffprof run`, tagged baseline"
    assert rest == run("show", saved).out
    for options in (["--by", "kind", "-q"], ["--by", "step", "--csv"], ["--json"]):
        assert run("history", "show", "2", *options).out == run("show", saved, *options).out


def test_a_run_can_be_saved_with_its_image(history: History, run: Run, tmp_path: Path) -> None:
    arguments = ("-o", str(tmp_path / "p.json.gz"), "--picture", str(tmp_path / "p.png"))
    assert run("history", "show", "3", *arguments).code == 0
    assert diffprof.load(tmp_path / "p.json.gz") == history.get(3)
    assert (tmp_path / "p.png").read_bytes() == b"PNG"


def without_folders(text: str) -> str:
    return re.sub(r'[^\s",]*/(?=run-\d)', "", text)


def test_runs_are_compared_as_saved_profiles_are(
    history: History, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    for colour in ("red", "darkred"):
        history.add(run_of_length(1), "generate", picture=image_bytes(colour))
    files = [str(history.get(number).save(tmp_path / f"run-{number}.json.gz")) for number in (2, 4, 5, 6)]
    for number in (5, 6):
        (tmp_path / f"run-{number}.png").write_bytes(history.picture(number) or b"")
    for numbers, saved in ((["2", "4"], files[:2]), (["5", "6"], files[2:]), (["2", "4", "5"], files[:3])):
        for options in ([], ["--json"], ["--csv"], ["--markdown"]):
            ours, theirs = run("history", "compare", *numbers, *options), run("compare", *saved, *options)
            assert (ours.code, ours.err) == (theirs.code, theirs.err) == (0, "")
            assert without_folders(ours.out) == without_folders(theirs.out)
    assert "PSNR" in run("history", "compare", "5", "6").out
    assert "PSNR" not in run("history", "compare", "2", "4").out


def test_a_run_can_be_compared_with_itself(history: History, run: Run) -> None:
    assert run("history", "compare", "2", "2").code == 0


def test_an_option_that_the_comparison_does_not_have_is_rejected(history: History, run: Run) -> None:
    ended = run("history", "compare", "2", "4", "--loudly")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "--loudly" in ended.err


def test_a_trend_is_a_table_json_or_csv(history: History, run: Run) -> None:
    assert "▇█" in run("history", "trend").out
    assert json.loads(run("history", "trend", "macs", "--json").out)["total"] == 3
    rows = list(csv.DictReader(io.StringIO(run("history", "trend", "time", "--csv", "--kind", "run").out)))
    assert [row["runs"] for row in rows] == ["2"]


def test_tags_are_put_on_and_taken_off(history: History, run: Run) -> None:
    assert run("history", "tag", "1", "a", "b").out.endswith(", tagged a, b\n")
    assert run("history", "tag", "1", "a", "--remove").out.endswith(", tagged b\n")
    assert kept_ids(run, "--tag", "b") == [1]


def test_the_history_is_exported(history: History, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    assert run("history", "export", str(file), "--kind", "run").err == f"Wrote {file}: 2 runs\n"
    with file.open(newline="") as opened:
        assert [row["id"] for row in csv.DictReader(opened)] == ["2", "4"]


def test_pruning_says_what_goes(history: History, run: Run) -> None:
    would = run("history", "prune", "--older-than", "2026-02-02", "--dry-run").out
    assert would.startswith("Would remove 2 runs, ")
    assert would.endswith("; 2 runs are left\n")
    assert run("history", "prune", "--older-than", "2026-02-02").out == would.replace("Would remove", "Removed")
    assert run("history", "prune", "--keep", "1", "--kind", "run").out.startswith("Removed 0 runs")
    assert kept_ids(run) == [4, 3]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "--json", "--csv"], "exclude each other"),
        (["list", "--limit", "0"], "--limit"),
        (["list", "--offset", "-1"], "--offset"),
        (["list", "--kind", "dream"], "--kind"),
        (["list", "--order", "beauty"], "--order"),
        (["list", "--since", "yesterday"], "--since takes 2026-01-31"),
        (["list", "--dtype", "float3"], "Unknown dtype"),
        (["show"], "RUN"),
        (["show", "five"], "RUN"),
        (["show", "99"], "There is no run 99 in"),
        (["show", "1", "--by", "step"], "run 1 was counted, not measured"),
        (["show", "1", "--picture", "p.png"], "No image is kept with run 1"),
        (["trend", "beauty"], "beauty"),
        (["trend", "--json", "--csv"], "exclude each other"),
        (["tag", "1"], "TAG"),
        (["tag", "99", "x"], "There is no run 99 in"),
        (["tag", "1", " "], "A tag must be"),
        (["export", "runs.xlsx"], "use .csv or .parquet"),
        (["prune"], "Specify --keep N or --older-than WHEN"),
        (["prune", "--keep", "1", "--older-than", "1d"], "Specify --keep N or --older-than WHEN"),
        (["prune", "--keep", "-1"], "--keep"),
        (["prune", "--older-than", "old"], "--older-than takes"),
        (["burn"], "burn"),
        (["compare", "1"], "two"),
        (["compare", "1", "99"], "There is no run 99 in"),
    ],
)
def test_a_wrong_request_is_rejected_with_one_message_and_changes_nothing(
    arguments: list[str], words: str, history: History, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = run("history", *arguments)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert words in ended.err
    assert history.count() == 4
    assert list(tmp_path.iterdir()) == []


def test_looking_at_the_history_imports_no_torch(history: History) -> None:
    history.add(run_of_length(2), "run")
    code = (
        "import sys\nfrom diffprof.cli import main\n"
        "for words in (['list'], ['show', '5'], ['trend'], ['tag', '1', 'x'], ['prune', '--keep', '9']):\n"
        "    sys.argv = ['diffprof', 'history', *words]\n"
        "    assert main() == 0\n"
        "assert not {'torch', 'diffusers', 'transformers', 'numpy', 'pyarrow'} & set(sys.modules)"
    )
    run_child("-c", code)


def test_repair_writes_a_copy_and_says_what_was_lost(history: History, run: Run, tmp_path: Path) -> None:
    change(history.path, "profile", b"nothing", table="documents")
    change(history.path, "macs", "many", run=3)
    listed = run("history", "list")
    assert listed.code == 0
    assert "Not shown, because its row is damaged: run 3" in listed.err
    ended = run("history", "repair", str(tmp_path / "new.sqlite"))
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == f"Wrote {tmp_path / 'new.sqlite'}: 3 runs; lost: run 2\n"
    assert [kept.id for kept in History(tmp_path / "new.sqlite").find()] == [4, 3, 1]
