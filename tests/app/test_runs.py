"""The runs that a visitor can open again: those of the session, and on this machine those of the history."""

from __future__ import annotations

import pytest

from diffprof.app.runs import KEPT, SESSION, history, keep_run, open_run, run_key, search_runs
from diffprof.app.session import Session
from diffprof.app.setup import Setup
from diffprof.errors import RequestError
from tests.sample_profiles import nothing, stable_diffusion

LOCAL, PUBLIC = Setup(), Setup(host="0.0.0.0")


@pytest.fixture
def session() -> Session:
    """Two runs: a count, and an image."""
    session = Session()
    session.add("profile", stable_diffusion())
    session.add("generate", nothing(), b"PNG")
    return session


def test_the_newest_run_of_the_session_is_listed_first(session: Session) -> None:
    found = search_runs(session, LOCAL, "", None)
    assert [(run.id, run.kind, run.picture) for run in found.session] == [(2, "generate", True), (1, "profile", False)]
    assert (found.session[1].model, found.session[1].steps) == ("sd-2.1-base", 31)
    assert (list(found.kept), found.total) == ([], 0)


def test_a_search_is_for_words_and_a_kind_in_the_session_and_in_the_history(session: Session) -> None:
    history().add(stable_diffusion(), "run")
    by_words = search_runs(session, LOCAL, "  SD-2.1 ", None)
    assert ([run.id for run in by_words.session], [run.id for run in by_words.kept], by_words.total) == ([1], [1], 1)
    by_kind = search_runs(session, LOCAL, "", "run")
    assert ([run.id for run in by_kind.session], [run.id for run in by_kind.kept]) == ([], [1])


def test_a_visitor_from_another_machine_finds_and_opens_no_kept_runs(session: Session) -> None:
    kept = history().add(stable_diffusion(), "run")
    found = search_runs(session, PUBLIC, "", None)
    assert (len(found.session), list(found.kept), found.total) == (2, [], 0)
    with pytest.raises(RequestError, match=f"There is no run 'kept {kept}' here"):
        open_run(session, PUBLIC, f"kept {kept}")


def test_a_run_is_opened_by_its_key(session: Session) -> None:
    history().add(stable_diffusion(), "generate", picture=b"PNG")
    found = search_runs(session, LOCAL, "", None)
    unsaved = open_run(session, LOCAL, run_key(SESSION, found.session[0]))
    assert (unsaved.name, unsaved.profile, unsaved.picture) == ("unsaved 2", nothing(), b"PNG")
    kept = open_run(session, LOCAL, run_key(KEPT, found.kept[0]))
    assert (kept.name, kept.profile, kept.picture) == ("run 1", stable_diffusion(), b"PNG")


@pytest.mark.parametrize("chosen", ["", "kept", "kept x", "kept -1", "kept 1 OR 1", "elsewhere 1", "session 9"])
def test_a_key_that_no_run_has_is_rejected(chosen: str, session: Session) -> None:
    with pytest.raises(RequestError, match=r"There is no run|no longer exists"):
        open_run(session, LOCAL, chosen)


def test_a_run_of_the_session_is_kept_with_its_image(session: Session) -> None:
    assert keep_run(session, LOCAL, "session 2") == 1
    run = history().get_run(1)
    assert (run.kind, history().picture(1)) == ("generate", b"PNG")


def test_a_run_is_kept_once_and_only_by_a_visitor_on_this_machine(session: Session) -> None:
    with pytest.raises(RequestError, match="only if the page is served to this machine alone"):
        keep_run(session, PUBLIC, "session 1")
    with pytest.raises(RequestError, match="Run 1 is kept already"):
        keep_run(session, LOCAL, "kept 1")
    assert history().count() == 0
