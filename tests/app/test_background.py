"""Work in the background: how it reports, ends, is stopped and fails."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from diffprof.app.background import Done, Failed, _latest, error_message, run_for_session, stop_all
from diffprof.app.session import Session
from diffprof.errors import RequestError
from diffprof.record.progress import Activity, Progress, ProgressEvent

COUNTING = ProgressEvent(Activity.counting, "unet", 1, 2)


def test_work_yields_its_result_last() -> None:
    def work(progress: Progress) -> int:
        progress(COUNTING)
        return 7

    *before, last = run_for_session(Session(), "tab", work)
    assert last == Done(7)
    assert before in ([], [COUNTING])


def test_an_error_becomes_a_message() -> None:
    def work(progress: Progress) -> None:
        raise RequestError("the prompt is\nempty")

    assert list(run_for_session(Session(), "tab", work)) == [Failed("The prompt is empty.")]


def test_the_details_of_a_bug_go_to_the_terminal_and_not_to_the_visitor(capsys: pytest.CaptureFixture[str]) -> None:
    def work(progress: Progress) -> None:
        raise ZeroDivisionError("of /home/owner/secret")

    (failed,) = run_for_session(Session(), "tab", work)
    assert isinstance(failed, Failed)
    assert failed.message.startswith("This is a bug in diffprof (ZeroDivisionError)")
    assert "secret" not in failed.message
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


def test_a_visitor_can_stop_running_work(endless: tuple[Callable[[Progress], None], threading.Event]) -> None:
    work, ended = endless
    session = Session()
    updates = run_for_session(session, "tab", work)
    assert next(updates) == COUNTING
    assert session.stop("tab")
    assert all(isinstance(status, ProgressEvent) for status in updates)
    assert ended.wait(30)
    assert not session.stop("tab"), "nothing is left to be stopped"


def test_stopping_waits_for_the_last_message(endless: tuple[Callable[[Progress], None], threading.Event]) -> None:
    session, statuses = Session(), []
    work, _ = endless
    started = threading.Event()

    def listen() -> None:
        for status in run_for_session(session, "tab", work):
            statuses.append(status)
            started.set()

    listener = threading.Thread(target=listen)
    listener.start()
    assert started.wait(30)
    assert session.stop("tab", timeout_seconds=30)
    count = len(statuses)
    listener.join(30)
    assert not listener.is_alive()
    assert len(statuses) == count


def test_work_ends_when_the_page_is_closed(endless: tuple[Callable[[Progress], None], threading.Event]) -> None:
    work, ended = endless
    updates = run_for_session(Session(), "tab", work)
    next(updates)
    updates.close()  # type: ignore[attr-defined]
    assert ended.wait(30)


def test_all_work_ends_with_the_server(endless: tuple[Callable[[Progress], None], threading.Event]) -> None:
    work, ended = endless
    updates = run_for_session(Session(), "tab", work)
    next(updates)
    stop_all()
    assert ended.is_set()
    assert all(isinstance(status, ProgressEvent) for status in updates)


def test_new_work_of_a_tab_stops_its_earlier_work_but_not_that_of_other_tabs(
    endless: tuple[Callable[[Progress], None], threading.Event],
) -> None:
    work, ended = endless
    session = Session()
    updates = run_for_session(session, "tab", work)
    next(updates)
    assert list(run_for_session(session, "other", lambda progress: 1)) == [Done(1)]
    assert next(updates) == COUNTING
    assert list(run_for_session(session, "tab", lambda progress: 2)) == [Done(2)]
    assert ended.wait(30)


def test_a_reader_gets_a_message_even_while_more_of_them_come() -> None:
    class Refilled:
        """A queue that is never empty: for each message that is read, another one comes."""

        def qsize(self) -> int:
            return 3

        def get(self, timeout: float | None = None) -> ProgressEvent:
            return COUNTING

        def empty(self) -> bool:
            return False

    assert _latest(Refilled(), threading.Event()) == COUNTING  # type: ignore[arg-type]


def test_a_library_that_is_not_installed_is_no_bug() -> None:
    sentence = error_message(ModuleNotFoundError("No module named 'torch'", name="torch"))
    assert sentence.startswith("This needs torch and diffusers, and torch is not installed; install them with")
    assert "bug" in error_message(ModuleNotFoundError("No module named 'own'", name="own"))
