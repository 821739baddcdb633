"""What was kept is found again, whole, and only that."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from diffprof.errors import FileFormatError, RequestError
from diffprof.record.files import dumps
from diffprof.record.history import Filters, History, default_path
from diffprof.record.profile import Profile
from tests.record.history.kept_runs import NOON, clock, four_runs, run_of_length, with_model_name
from tests.sample_iterations import CPU, GPU
from tests.sample_profiles import everything_measured, hostile, measured_profile, nothing, stable_diffusion


@pytest.fixture
def history(tmp_path: Path) -> History:
    return four_runs(tmp_path / "history.sqlite")


@pytest.mark.parametrize("make", [stable_diffusion, measured_profile, everything_measured, nothing, hostile])
def test_a_kept_profile_comes_back_as_it_was(make: Callable[[], Profile], tmp_path: Path) -> None:
    history = History(tmp_path / "h.sqlite")
    run = history.add(make(), "profile")
    assert history.get(run) == make()
    assert dumps(history.get(run)) == dumps(make())


def test_the_metrics_of_a_run_are_those_of_its_profile(history: History) -> None:
    profile, kept = history.get(2), history.get_run(2)
    assert (kept.id, kept.kind, kept.created_at) == (2, "run", "2026-02-01T12:00:00.000000Z")
    assert (kept.model, kept.pipeline, kept.dtype) == ("sd-2.1-base", "StableDiffusionPipeline", "float16")
    assert (kept.height, kept.width, kept.frames, kept.steps) == (512, 512, None, 4)
    assert (kept.macs, kept.parameters) == (profile.total.macs, profile.total.parameters)
    assert (kept.device, kept.device_kind) == (CPU.name, "cpu")
    assert (kept.torch, kept.diffusers) == ("2.8.0", "0.42.1")
    assert kept.tags == ("baseline",)


def test_a_counted_profile_has_no_measured_metrics(history: History) -> None:
    kept = history.get_run(1)
    assert (kept.device, kept.iterations, kept.wall_seconds, kept.peak_memory_bytes) == (None, None, None, None)


def test_a_image_is_kept_with_its_run(history: History) -> None:
    assert history.picture(3) == b"PNG"
    assert history.picture(2) is None
    assert [run.picture for run in history.find()] == [False, True, False, False]


def ids(history: History, filters: Filters | None = None, **options: object) -> list[int]:
    return [run.id for run in history.find(filters or Filters(), **options)]  # type: ignore[arg-type]


def test_the_newest_come_first(history: History) -> None:
    assert ids(history) == [4, 3, 2, 1]
    assert ids(history, reverse=True) == [1, 2, 3, 4]


def test_pages_follow_each_other(history: History) -> None:
    assert [ids(history, limit=3), ids(history, limit=3, offset=3), ids(history, offset=9)] == [[4, 3, 2], [1], []]


def test_runs_without_the_metric_come_last_in_either_order(history: History) -> None:
    assert ids(history, order="wall_seconds") == [4, 2, 3, 1]
    assert ids(history, order="wall_seconds", reverse=True) == [3, 2, 4, 1]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(model="other/model"), [3]),
        (Filters(model="other"), []),
        (Filters(kind="run"), [4, 2]),
        (Filters(tag="baseline"), [3, 2]),
        (Filters(tag="base"), []),
        (Filters(device="cpu"), [4, 2]),
        (Filters(device=GPU.name), [3]),
        (Filters(dtype="float16"), [4, 3, 2, 1]),
        (Filters(dtype="float32"), []),
        (Filters(since=NOON + timedelta(days=1)), [4, 3, 2]),
        (Filters(until=NOON + timedelta(days=1)), [1]),
        (Filters(since=NOON + timedelta(days=1), until=NOON + timedelta(days=3)), [3, 2]),
        (Filters(text="OTHER/m"), [3]),
        (Filters(text="100% sure"), []),
        (Filters(model="sd-2.1-base", kind="run", tag="baseline", device="cpu", text="stable"), [2]),
    ],
)
def test_all_filters_must_hold(filters: Filters, expected: list[int], history: History) -> None:
    assert ids(history, filters) == expected
    assert history.count(filters) == len(expected)


def test_other_time_zones_are_the_same_moments(history: History) -> None:
    east = timezone(timedelta(hours=9))
    assert ids(history, Filters(since=(NOON + timedelta(days=3)).astimezone(east))) == [4]


def test_prompts_are_searched_without_regard_to_capitals(tmp_path: Path) -> None:
    history = History(tmp_path / "h.sqlite")
    for prompt in ("Ein STRASSENBILD", ["a cat", "Zwei Straßen"], "a dog"):
        profile = stable_diffusion()
        request = replace(profile.request, arguments={**profile.request.arguments, "prompt": prompt})
        history.add(replace(profile, request=request), "profile")
    assert ids(history, Filters(text="straße")) == ids(history, Filters(text="Strasse")) == [2, 1]
    assert ids(history, Filters(text="A Cat")) == [2]
    assert ids(history, Filters(text="a photo")) == []  # a stand-in is nobody's prompt


def test_names_with_half_characters_are_kept_and_found(tmp_path: Path) -> None:
    history = History(tmp_path / "h.sqlite")
    history.add(with_model_name(stable_diffusion(), "folder-\udcff"), "profile")
    assert ids(history, Filters(model="folder-\udcff")) == [1]
    assert history.get(1).request.model == "folder-\udcff"


def test_a_count_beyond_64_bits_is_kept_exactly_and_found_nearly(tmp_path: Path) -> None:
    profile = stable_diffusion()
    part = replace(profile.components["vae"], parameters=2**70 + 1)
    history = History(tmp_path / "h.sqlite")
    history.add(replace(profile, components={**profile.components, "vae": part}), "profile")
    assert history.get(1).components["vae"].parameters == 2**70 + 1
    assert history.get_run(1).parameters == pytest.approx(2**70)
    assert history.export(tmp_path / "runs.parquet") == 1


def test_a_trend_has_a_series_for_each_request_and_device(history: History) -> None:
    trend = history.trend("wall_seconds")
    assert [(one.newest.id, one.ids) for one in trend.series] == [(4, (2, 4)), (3, (3,))]
    assert trend.series[0].moments == ("2026-02-01T12:00:00.000000Z", "2026-02-03T12:00:00.000000Z")
    slower, usual = trend.series[0].values[1], trend.series[0].values[0]
    assert slower == pytest.approx(1.1 * usual, rel=1e-3)


def test_a_trend_can_be_limited_and_says_what_it_leaves_out(history: History) -> None:
    trend = history.trend("macs", limit=1)
    assert ([one.ids for one in trend.series], trend.total) == ([(2, 4)], 3)
    assert history.trend("macs", Filters(kind="profile")).series[0].values == (stable_diffusion().total.macs,)


def test_other_words_and_seeds_are_the_same_request(tmp_path: Path) -> None:
    history = History(tmp_path / "h.sqlite")
    arguments = {"height": 512, "prompt": "a cat", "generator": 7}
    for change in ({}, {"prompt": "a dog", "generator": 8}, {"prompt": ["a", "b"]}, {"height": 768}):
        profile = stable_diffusion()
        request = replace(profile.request, arguments={**arguments, **change}, defaults={})
        history.add(replace(profile, request=request), "profile")
    assert sorted(one.ids for one in history.trend("macs").series) == [(1, 2), (3,), (4,)]


def test_a_default_is_the_same_request_as_the_same_value_given(tmp_path: Path) -> None:
    history, profile = History(tmp_path / "h.sqlite"), stable_diffusion()
    given = replace(profile.request, arguments={"eta": 0.0, "height": 512}, defaults={})
    history.add(replace(profile, request=given), "profile")
    history.add(replace(profile, request=replace(given, arguments={"height": 512}, defaults={"eta": 0.0})), "profile")
    assert [one.ids for one in history.trend("macs").series] == [(1, 2)]


def test_tags_can_be_put_on_and_taken_off(history: History) -> None:
    history.tag(1, "slow", "baseline", "slow")
    assert history.get_run(1).tags == ("baseline", "slow")
    history.untag(1, "baseline", "never there")
    assert history.get_run(1).tags == ("slow",)


@pytest.mark.parametrize("tag", ["", "  ", "two\nlines", "\x1b[31m", "x" * 101])
def test_a_tag_that_cannot_be_shown_is_rejected(tag: str, history: History) -> None:
    with pytest.raises(RequestError, match="printable"):
        history.tag(1, tag)
    with pytest.raises(RequestError, match="printable"):
        history.add(stable_diffusion(), "profile", [tag])
    assert history.count() == 4


@pytest.mark.parametrize("run", [0, -1, 5, 2**63, 10**30])
def test_a_run_that_is_not_there_is_named(run: int, history: History) -> None:
    for ask in (history.get, history.get_run, history.picture, lambda run: history.tag(run, "x")):
        with pytest.raises(RequestError, match=f"no run {run} in .*history list"):
            ask(run)


def test_what_is_not_known_is_rejected(history: History) -> None:
    with pytest.raises(RequestError, match="profile, run, generate"):
        history.add(stable_diffusion(), "dream")
    with pytest.raises(RequestError, match="wall_seconds"):
        history.trend("beauty")
    with pytest.raises(RequestError, match="wall_seconds"):
        history.find(order="beauty; DROP TABLE runs")


def test_pruning_keeps_the_newest(history: History) -> None:
    would = history.prune(keep=1, dry_run=True)
    assert (would.runs, would.left, ids(history)) == (3, 1, [4, 3, 2, 1])
    assert history.prune(keep=1) == would
    assert ids(history) == [4]
    assert history.add(stable_diffusion(), "profile") == 5  # a number is never used twice


def test_pruning_by_age_removes_what_is_older(history: History) -> None:
    assert history.prune(older_than=NOON + timedelta(days=2)).runs == 2
    assert ids(history) == [4, 3]


def test_an_age_is_counted_from_now(tmp_path: Path) -> None:
    four_runs(tmp_path / "h.sqlite")
    later = History(tmp_path / "h.sqlite", now=lambda: NOON + timedelta(days=10))
    assert later.prune(older_than=timedelta(days=8), dry_run=True).runs == 2


def test_pruning_deletes_only_runs_that_match(history: History) -> None:
    history.prune(keep=1, filters=Filters(kind="run"))
    assert ids(history) == [4, 3, 1]


def test_pruning_deletes_everything_of_a_run_and_frees_its_space(tmp_path: Path) -> None:
    history = History(tmp_path / "h.sqlite")
    for _ in range(3):
        history.add(stable_diffusion(), "profile", ["big"], picture=bytes(300_000))
    before = history.path.stat().st_size
    assert history.prune(keep=0).size_bytes > 900_000
    assert before - history.path.stat().st_size > 900_000
    assert history.find(Filters(tag="big")) == ()
    with pytest.raises(RequestError):
        history.picture(1)


@pytest.mark.parametrize("options", [{}, {"keep": 1, "older_than": timedelta(1)}, {"keep": -1}])
def test_pruning_needs_exactly_one_criterion(options: dict[str, object], history: History) -> None:
    with pytest.raises(RequestError):
        history.prune(**options)  # type: ignore[arg-type]
    assert history.count() == 4


def test_nothing_is_in_a_history_that_is_not_there_and_asking_makes_no_file(tmp_path: Path) -> None:
    history = History(tmp_path / "none" / "h.sqlite")
    assert (history.find(), history.count(), history.trend("macs").series) == ((), 0, ())
    assert history.prune(keep=0).runs == 0
    with pytest.raises(RequestError):
        history.tag(1, "x")
    assert not history.path.parent.exists()


def test_a_damaged_profile_is_named_and_the_others_are_there(history: History) -> None:
    import sqlite3

    with sqlite3.connect(history.path) as connection:
        connection.execute("UPDATE documents SET profile = ? WHERE run = 2", (b"\x1f\x8b damaged",))
        connection.execute("UPDATE documents SET profile = ? WHERE run = 3", (json.dumps({}).encode(),))
    connection.close()
    for run in (2, 3):
        with pytest.raises(FileFormatError, match=f"Run {run} of the history"):
            history.get(run)
    assert history.get(4) == run_of_length(1.1)


def test_the_clock_of_a_run_is_the_moment_it_was_kept(tmp_path: Path) -> None:
    before = datetime.now(timezone.utc)
    history = History(tmp_path / "h.sqlite")
    history.add(stable_diffusion(), "profile")
    kept = datetime.fromisoformat(history.get_run(1).created_at.replace("Z", "+00:00"))
    assert before <= kept <= datetime.now(timezone.utc)


def test_threads_share_a_history(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    history = History(tmp_path / "h.sqlite", now=clock())
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda _: history.add(nothing(), "run"), range(40)))
    assert sorted(numbers) == list(range(1, 41))


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the XDG folders are those of Linux")
def test_the_history_is_in_the_data_folder_of_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DIFFPROF_HISTORY", str(tmp_path / "mine.sqlite"))
    assert History().path == tmp_path / "mine.sqlite"
    monkeypatch.setenv("DIFFPROF_HISTORY", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "diffprof" / "history.sqlite"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert default_path() == Path.home() / ".local" / "share" / "diffprof" / "history.sqlite"
