"""Work for a visitor: how it is followed, stopped, and how it fails."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable

import pytest

from diffprof.app.visit import MOST_RUNS, Visit
from diffprof.app.working import Done, Failed, end_all, told
from diffprof.errors import RequestError
from diffprof.record.progress import Activity, Progress, ProgressEvent
from tests.profiles_made_by_hand import stable_diffusion

COUNTING = ProgressEvent(Activity.counting, "unet", 1, 2)


def test_work_is_followed_to_its_result() -> None:
    def work(progress: Progress) -> int:
        progress(COUNTING)
        return 7

    *before, last = told(Visit(), "tab", work)
    assert last == Done(7)
    assert before in ([], [COUNTING])


def test_an_error_is_a_sentence() -> None:
    def work(progress: Progress) -> None:
        raise RequestError("the prompt is\nempty")

    assert list(told(Visit(), "tab", work)) == [Failed("The prompt is empty.")]


def test_what_nobody_foresaw_is_a_sentence_too_and_the_owner_sees_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    def work(progress: Progress) -> None:
        raise ZeroDivisionError("of /home/owner/secret")

    (failed,) = told(Visit(), "tab", work)
    assert isinstance(failed, Failed)
    assert failed.sentence.startswith("This is a bug in diffprof (ZeroDivisionError)")
    assert "secret" not in failed.sentence
    assert "of /home/owner/secret" in capsys.readouterr().err


@pytest.fixture
def endless() -> tuple[Callable[[Progress], None], threading.Event]:
    """Work that only ends when it is stopped, and the sign that it did."""
    ended = threading.Event()

    def work(progress: Progress) -> None:
        try:
            while True:
                progress(COUNTING)
        finally:
            ended.set()

    return work, ended


def test_a_visitor_stops_what_is_under_way(endless: tuple[Callable[[Progress], None], threading.Event]) -> None:
    work, ended = endless
    visit = Visit()
    following = told(visit, "tab", work)
    assert next(following) == COUNTING
    assert visit.stop("tab")
    assert all(isinstance(news, ProgressEvent) for news in following)
    assert ended.wait(30)
    assert not visit.stop("tab"), "nothing is left to be stopped"


def test_stopping_waits_until_nothing_more_is_told(endless: tuple[Callable[[Progress], None], threading.Event]) -> None:
    visit, heard = Visit(), []
    work, _ = endless
    begun = threading.Event()

    def listen() -> None:
        for news in told(visit, "tab", work):
            heard.append(news)
            begun.set()

    listener = threading.Thread(target=listen)
    listener.start()
    begun.wait(30)
    assert visit.stop("tab", patience_seconds=30)
    count = len(heard)
    listener.join(30)
    assert len(heard) == count


def test_work_ends_when_nobody_listens_any_more(endless: tuple[Callable[[Progress], None], threading.Event]) -> None:
    work, ended = endless
    following = told(Visit(), "tab", work)
    next(following)
    following.close()  # type: ignore[attr-defined]
    assert ended.wait(30)


def test_all_work_ends_when_the_page_does(endless: tuple[Callable[[Progress], None], threading.Event]) -> None:
    work, ended = endless
    following = told(Visit(), "tab", work)
    next(following)
    end_all()
    assert ended.is_set()
    assert all(isinstance(news, ProgressEvent) for news in following)


def test_what_a_tab_begins_ends_what_it_did_before_and_nothing_of_others(
    endless: tuple[Callable[[Progress], None], threading.Event],
) -> None:
    work, ended = endless
    visit = Visit()
    following = told(visit, "tab", work)
    next(following)
    assert list(told(visit, "other", lambda progress: 1)) == [Done(1)]
    assert next(following) == COUNTING
    assert list(told(visit, "tab", lambda progress: 2)) == [Done(2)]
    assert ended.wait(30)


def test_every_visitor_begins_with_nothing() -> None:
    visit = Visit()
    visit.add("profile", stable_diffusion())
    visit.begin("tab")
    another = copy.deepcopy(visit)
    assert another.runs == []
    assert another.switches == {}


def test_a_visit_remembers_its_newest_runs() -> None:
    visit, profile = Visit(), stable_diffusion()
    for _ in range(MOST_RUNS + 2):
        visit.add("profile", profile)
    assert [run.number for run in visit.runs] == list(range(3, MOST_RUNS + 3))


def test_a_picture_is_not_forgotten_for_the_many_counts_after_it() -> None:
    visit, profile = Visit(), stable_diffusion()
    visit.add("generate", profile)
    for _ in range(MOST_RUNS):
        visit.add("profile", profile)
    assert len(visit.runs) == MOST_RUNS
    assert [run.number for run in visit.runs if run.kind == "generate"] == [1]
