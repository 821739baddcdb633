"""``--keep``: what is put into the history, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.cli.options.keep import make_history_writer
from diffprof.errors import PipelineError
from diffprof.record.history import History, default_path
from diffprof.render.profile_console import profile_text
from tests.cli.conftest import Engine, Run, image_bytes, kept_ids
from tests.record.history.kept_runs import run_of_length
from tests.sample_profiles import stable_diffusion


def test_a_profile_is_kept_if_requested(run: Run, engine: Engine) -> None:
    ended = run("profile", "sdxl", "--keep")
    assert (ended.code, ended.out) == (0, profile_text(stable_diffusion(), 100))
    assert ended.err == "Kept as run 1; `diffprof history show 1` shows it\n"
    kept = History().get_run(1)
    assert (kept.kind, kept.macs) == ("profile", stable_diffusion().total.macs)
    assert History().get(1) == stable_diffusion()


def test_nothing_is_kept_by_default(run: Run, engine: Engine) -> None:
    assert run("profile", "sdxl").err == ""
    assert not default_path().exists()


@pytest.mark.parametrize(("value", "kept"), [("1", 1), ("true", 1), ("YES", 1), ("0", 0), ("", 0), ("off", 0)])
def test_the_environment_decides_where_no_option_does(
    value: str, kept: int, run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIFFPROF_KEEP", value)
    assert run("profile", "sdxl", "-q").err == ""
    assert History().count() == kept
    run("profile", "sdxl", "-q", "--no-keep")
    assert History().count() == kept


def test_a_file_of_settings_says_whether_and_where(
    run: Run, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DIFFPROF_HISTORY")
    (tmp_path / "diffprof.toml").write_text('keep = true\nhistory = "mine.sqlite"\n')
    run("profile", "sdxl")
    assert History(tmp_path / "mine.sqlite").count() == 1
    assert kept_ids(run) == [1]


def test_a_wrong_setting_is_rejected_before_the_work(run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_KEEP", "maybe")
    ended = run("profile", "sdxl")
    assert (ended.code, engine.requests) == (2, [])
    assert "DIFFPROF_KEEP must be 1 or 0, not 'maybe'" in ended.err


def test_an_image_is_kept_with_its_profile() -> None:
    make_history_writer(True, "generate", quiet=True)(run_of_length(1), picture=image_bytes("red"))
    make_history_writer(False, "generate", quiet=True)(run_of_length(1), picture=image_bytes("blue"))
    assert [(run.kind, History().picture(run.id)) for run in History().find()] == [("generate", image_bytes("red"))]


def test_a_profile_from_the_cache_is_kept_too(run: Run, engine: Engine) -> None:
    for _ in range(2):
        run("profile", "sdxl", "--keep")
    assert (len(engine.requests), History().count()) == (1, 2)


def test_a_profile_that_fails_is_not_kept(run: Run, engine: Engine) -> None:
    engine.failure = PipelineError("no")
    assert run("profile", "sdxl", "--keep").code == 1
    assert History().count() == 0


def test_a_history_that_cannot_be_used_is_an_error_after_the_profile_was_shown(run: Run, engine: Engine) -> None:
    default_path().write_text("dear diary")
    ended = run("profile", "sdxl", "--keep")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert ended.out == run("profile", "sdxl").out
    assert "is not a diffprof history" in ended.err
    assert default_path().read_text() == "dear diary"
