"""What a session remembers."""

from __future__ import annotations

import copy

from diffprof.app.session import MAX_RUNS, Session
from tests.sample_profiles import stable_diffusion


def test_every_visitor_starts_with_an_empty_session() -> None:
    session = Session()
    session.add("profile", stable_diffusion())
    session.begin("tab")
    another = copy.deepcopy(session)
    assert another.runs == []
    assert another.stop_signals == {}


def test_a_session_remembers_its_newest_runs() -> None:
    session, profile = Session(), stable_diffusion()
    for _ in range(MAX_RUNS + 2):
        session.add("profile", profile)
    assert [run.number for run in session.runs] == list(range(3, MAX_RUNS + 3))


def test_an_image_outlives_many_later_counts() -> None:
    session, profile = Session(), stable_diffusion()
    session.add("generate", profile)
    for _ in range(MAX_RUNS):
        session.add("profile", profile)
    assert len(session.runs) == MAX_RUNS
    assert [run.number for run in session.runs if run.kind == "generate"] == [1]
