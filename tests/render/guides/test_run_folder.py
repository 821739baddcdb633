"""The files that a measured run leaves in its folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import diffprof
from diffprof.errors import OutputError
from diffprof.record.profile import Profile
from diffprof.render.guides import run_folder
from diffprof.render.guides.run_folder import (
    MEMORY,
    REPORT,
    TIMING,
    TRACE,
    RunFiles,
    check_folder_files,
    memory_log,
    write_run_folder,
)
from diffprof.render.guides.timing_file import timing_text
from tests.sample_iterations import GPU, iteration_on
from tests.sample_profiles import measured_profile


@pytest.fixture(scope="module")
def traced() -> Profile:
    """A warm-up, a timed iteration and a traced one."""
    iterations = [
        iteration_on(GPU, warmup=True),
        iteration_on(GPU),
        iteration_on(GPU, traced=True),
    ]
    return measured_profile(device=GPU, iterations=iterations)


def test_the_profile_the_memory_and_the_times_are_written(traced: Profile, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert write_run_folder(folder, traced) == [folder / name for name in (REPORT, MEMORY, TIMING)]
    assert diffprof.load(folder / REPORT) == traced
    assert json.loads((folder / MEMORY).read_text()) == memory_log(traced)
    assert (folder / TIMING).read_text(encoding="utf-8") == timing_text(traced)


def test_the_memory_log_has_every_moment_but_those_of_a_traced_iteration(traced: Profile) -> None:
    assert traced.measured is not None
    warmup, timed, _ = traced.measured.iterations
    snapshots = memory_log(traced)["snapshots"]
    assert [snapshot["iteration"] for snapshot in snapshots] == [0] * len(warmup.memory) + [1] * len(timed.memory)
    first = snapshots[len(warmup.memory)]
    assert first["label"] == timed.memory[0].label
    assert first["allocated_bytes"] == timed.memory[0].allocated_bytes
    assert first["seconds"] == (timed.began_ns + timed.memory[0].at_ns) / 1e9


def test_a_file_that_cannot_be_written_does_not_stop_the_others(
    traced: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = run_folder._write

    def refuse_the_report(file: Path, content: Callable[[], str]) -> None:
        if file.name == REPORT:
            raise OutputError(f"Cannot write {file}: No space left on device.")
        write(file, content)

    monkeypatch.setattr(run_folder, "_write", refuse_the_report)
    with pytest.raises(OutputError, match="No space left on device"):
        write_run_folder(tmp_path / "out", traced)
    assert {file.name for file in (tmp_path / "out").iterdir()} == {MEMORY, TIMING}


def test_a_folder_in_the_place_of_a_file_is_found_before_the_run(tmp_path: Path) -> None:
    check_folder_files(tmp_path / "not there yet")
    assert not (tmp_path / "not there yet").exists()
    (tmp_path / TRACE).mkdir()
    with pytest.raises(OutputError, match=r"trace\.json: it is a folder"):
        check_folder_files(tmp_path)


def test_a_name_that_ends_as_profiles_do_is_a_file_for_the_profile_alone(traced: Profile, tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    target = RunFiles.at(file)
    target.check()
    assert target.write(traced) == [file]
    assert list(tmp_path.iterdir()) == [file]
    assert diffprof.load(file) == traced
    assert target.describe([file]) == str(file)
    assert target.describe([file, tmp_path / TRACE]) == f"{file}, and trace.json beside it"


def test_any_other_name_and_an_existing_folder_are_folders(traced: Profile, tmp_path: Path) -> None:
    (tmp_path / "old.json").mkdir()
    for name in ("out", "old.json"):
        files = RunFiles.at(tmp_path / name).write(traced)
        assert [file.parent for file in files] == [tmp_path / name] * 3


def test_a_page_or_a_table_is_no_name_for_a_run(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"a folder for all files, or a \.json file for the profile"):
        RunFiles.at(tmp_path / "run.html")
