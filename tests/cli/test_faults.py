"""Whatever fails around a command: what it computed is printed, nothing is half-written, and the next one works."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from diffprof.record.history import History
from tests.children import run_forked
from tests.cli.quick_engine import run_quickly
from tests.sample_profiles import stable_diffusion

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and signals of Linux")

MACS = stable_diffusion().total.macs


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose folders are the platform's own, and nothing else set."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("DIFFPROF_CACHE_DIR", "DIFFPROF_HISTORY", "DIFFPROF_CATALOGUE_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home


def diffprof(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    # Counted: a law would answer before the quick engine is asked.
    return run_forked(lambda: run_quickly([*map(str, arguments), "--count"]), **options)


def macs_printed(child: subprocess.CompletedProcess[str]) -> int:
    return json.loads(child.stdout)["total"]["macs"]  # type: ignore[no-any-return]


def leftovers(folder: Path) -> list[str]:
    return [file.name for file in folder.rglob("*") if file.name.endswith((".tmp", "-journal", ".repairing"))]


def limited(size: int) -> Callable[[], None]:
    """Files may not grow beyond this: what a full disk does to whoever writes."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def test_a_full_disk_leaves_the_answer_and_no_half_of_a_file(places: Path, tmp_path: Path) -> None:
    child = diffprof("profile", "sdxl", "--json", preexec_fn=limited(500))
    assert macs_printed(child) == MACS
    refused = diffprof("profile", "sdxl", "-o", tmp_path / "p.json", exit_code=1, preexec_fn=limited(500))
    assert "Cannot write" in refused.stderr
    assert not (tmp_path / "p.json").exists()
    assert leftovers(tmp_path) == []
    assert macs_printed(diffprof("profile", "sdxl", "--json")) == MACS


def test_a_disk_that_is_full_for_the_history_is_said_after_the_answer(places: Path) -> None:
    diffprof("profile", "sdxl", "--keep", "-q")
    child = diffprof("profile", "sdxl", "--json", "--keep", exit_code=1, preexec_fn=limited(36_864))
    assert macs_printed(child) == MACS
    assert "history" in child.stderr
    assert History(places / ".local/share/diffprof/history.sqlite").count() == 1
    diffprof("profile", "sdxl", "--keep", "-q")
    assert History(places / ".local/share/diffprof/history.sqlite").count() == 2


def with_home(home: str | None) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "HOME"}
    return {**environment, "WITHOUT_HOME": "1"} if home is None else {**environment, "HOME": home}


@pytest.mark.parametrize("home", ["missing", "/dev/null", "/proc", None])
def test_a_home_that_is_missing_or_cannot_be_written_changes_nothing_but_the_cache(
    home: str | None, places: Path
) -> None:
    if home == "missing":
        home = str(places / home / "at all")
    child = diffprof("profile", "sdxl", "--json", env=with_home(home))
    assert macs_printed(child) == MACS
    if home in ("/dev/null", "/proc", None):
        refused = diffprof("profile", "sdxl", "--json", "--keep", exit_code=2, env=with_home(home))
        assert "Cannot write the history" in refused.stderr
        assert macs_printed(refused) == MACS


@pytest.mark.parametrize(("name", "code"), [("SIGKILL", -signal.SIGKILL), ("SIGTERM", -signal.SIGTERM)])
def test_a_command_that_is_killed_leaves_nothing_that_disturbs_the_next(name: str, code: int, places: Path) -> None:
    killed = {**os.environ, "SIGNAL_WHILE_COUNTING": name}
    diffprof("profile", "sdxl", "--json", "--keep", exit_code=code, env=killed)
    assert leftovers(places) == []
    assert macs_printed(diffprof("profile", "sdxl", "--json", "--keep")) == MACS
    assert History(places / ".local/share/diffprof/history.sqlite").count() == 1


def test_a_command_that_is_killed_while_it_writes_leaves_the_old_file(places: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text("what was there before")
    killed = {**os.environ, "KILLED_WHILE": "writing"}
    diffprof("profile", "sdxl", "--no-cache", "-o", file, exit_code=-signal.SIGKILL, env=killed)
    assert file.read_text() == "what was there before"
    diffprof("profile", "sdxl", "-o", file)
    assert json.loads(file.read_text())["total"]["macs"] == MACS


def test_a_cache_whose_writer_was_killed_is_whole_and_cleaned_by_the_next(places: Path) -> None:
    killed = {**os.environ, "KILLED_WHILE": "writing"}
    diffprof("profile", "sdxl", "--json", exit_code=-signal.SIGKILL, env=killed)
    cache = places / ".cache" / "diffprof"
    (left,) = cache.iterdir()
    assert left.name.endswith(".tmp"), "the writer was killed in the middle"
    os.utime(left, (0, 0))  # long ago: a younger one may belong to a writer that is at work
    assert macs_printed(diffprof("profile", "sdxl", "--json")) == MACS
    (entry,) = cache.iterdir()
    assert entry.name.endswith(".json.gz")


def test_a_command_that_is_killed_while_it_keeps_a_run_keeps_none_and_loses_none(places: Path) -> None:
    diffprof("profile", "sdxl", "--keep", "-q")
    killed = {**os.environ, "KILLED_WHILE": "keeping"}
    diffprof("profile", "sdxl", "--keep", "-q", exit_code=-signal.SIGKILL, env=killed)
    history = History(places / ".local/share/diffprof/history.sqlite")
    assert history.count() == 1
    diffprof("profile", "sdxl", "--keep", "-q")
    assert [history.get(run.id).total.macs for run in history.find()] == [MACS, MACS]


def test_ctrl_c_is_one_word_and_exit_code_130(places: Path, tmp_path: Path) -> None:
    interrupted = {**os.environ, "SIGNAL_WHILE_COUNTING": "SIGINT"}
    child = diffprof("profile", "sdxl", "-o", tmp_path / "p.json", exit_code=130, env=interrupted)
    assert child.stderr == "diffprof: interrupted.\n"
    assert not (tmp_path / "p.json").exists()


def test_a_clock_that_was_set_back_loses_no_run(places: Path) -> None:
    moments = [datetime(2026, 1, 2, tzinfo=timezone.utc), datetime(1999, 1, 1, tzinfo=timezone.utc)]
    history = History(now=iter(moments).__next__)
    numbers = [history.add(stable_diffusion(), "profile") for _ in moments]
    assert numbers == [1, 2]
    assert [run.id for run in history.find()] == [1, 2]
    (series,) = history.trend("macs").series
    assert series.ids == (2, 1)
    pruned = History(now=lambda: moments[1]).prune(older_than=timedelta(days=1), dry_run=True)
    assert pruned.runs == 0


def test_two_processes_with_one_cache_get_the_same_answer(places: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        children = list(pool.map(lambda _: diffprof("profile", "sdxl", "--json"), range(2)))
    assert [macs_printed(child) for child in children] == [MACS, MACS]
    cache = places / ".cache" / "diffprof"
    assert len([file for file in cache.iterdir() if file.name.endswith(".json.gz")]) == 1
    assert leftovers(cache) == []
    for entry in cache.iterdir():
        entry.write_bytes(b"half of")
    assert macs_printed(diffprof("profile", "sdxl", "--json")) == MACS


def test_a_reader_that_goes_away_does_not_stop_the_file(places: Path, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    diffprof("profile", "sdxl", "-o", tmp_path / "p.json", stdout=write)
    os.close(write)
    assert json.loads((tmp_path / "p.json").read_text())["total"]["macs"] == MACS
