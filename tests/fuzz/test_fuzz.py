"""Files as nobody should write them end in a sentence, and make diffprof do nothing but read them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import campaign
from tests.fuzz.campaign import Campaign
from tests.fuzz.mutation import Mutator, dump
from tests.fuzz.outcome import Ended, check_trace, problems
from tests.fuzz.worker import subjects

SEED = 20_261_117

WITHOUT_TORCH = ("profile", "trace", "snapshot", "history", "configuration", "picture", "answer", "sweep", "law")
WITH_TORCH = ("folder", "weights", "entry", "cache")


@pytest.mark.parametrize(
    ("kinds", "cases"),
    [
        pytest.param(WITHOUT_TORCH, 360, id="files"),
        pytest.param(WITH_TORCH, 12, id="models"),
        pytest.param(WITHOUT_TORCH, 1_970, id="many files", marks=pytest.mark.extensive),
        pytest.param(WITH_TORCH, 30, id="many models", marks=pytest.mark.extensive),
    ],
)
def test_no_file_breaks_a_command(kinds: tuple[str, ...], cases: int, tmp_path: Path) -> None:
    chosen = Campaign(SEED, 0, cases, kinds, few_folders=True, failures=tmp_path / "failures")
    summary = chosen.run(workers=1)
    assert sum(summary.cases.values()) == cases
    assert not summary.failures, summary.text
    # Most are refused, and many go through: the mutations are neither too wild nor too tame.
    assert summary.codes[0] >= cases // 10
    assert summary.codes[2] >= cases // 10


def test_the_same_seed_makes_the_same_case() -> None:
    value = {"a": [1, 2.5, "x"], "b": {"c": None}}
    first, second = (dump(Mutator(random.Random("7:1")).tree(value)) for _ in range(2))
    assert first == second
    assert dump(Mutator(random.Random("7:2")).tree(value)) != first


def test_every_kind_of_file_has_its_cases() -> None:
    assert sorted((*WITHOUT_TORCH, *WITH_TORCH)) == sorted(subject.name for subject in subjects((), few_folders=True))


@pytest.mark.parametrize(
    ("ended", "found"),
    [
        (Ended(["show", "x"], 2, "", "diffprof: error: no.\n"), ""),
        (Ended(["show", "x"], 1, "", "diffprof: error: this is a bug in diffprof (X).\n"), "bug: "),
        (Ended(["show", "x"], "ValueError", "", ""), "exception: "),
        (Ended(["show", "x"], 3, "", ""), "exit code 3"),
        (Ended(["gate", "x"], 3, "too noisy to tell\n", ""), ""),
        (Ended(["gate", "x"], 4, "", ""), "exit code 4"),
        (Ended(["gate", "x"], 1, "", ""), "without a message"),
        (Ended(["show", "x"], 2, "", "diffprof: error: No such option: --y.\n"), "tries nothing"),
        (Ended(["show", "x"], 2, "", ""), "without a message"),
        (Ended(["show", "x"], 2, "", "x" * 1000), "a refusal of 1,000 characters"),
        (Ended(["show", "x", "--json"], 0, "{", ""), "is no JSON"),
    ],
)
def test_what_must_not_happen_is_found(ended: Ended, found: str) -> None:
    assert found in "".join(problems([ended]))
    assert bool(found) == bool(problems([ended]))


def test_a_negative_time_is_found() -> None:
    assert check_trace([Ended(["trace", "--json"], 0, '{"ops": [{"self_ns": -1}]}', "")]) == [
        "negative: /ops/0/self_ns = -1"
    ]


@pytest.mark.parametrize(("copies", "found"), [(1, False), (2, True)])
def test_times_that_do_not_add_up_are_found(copies: int, found: bool) -> None:
    parts = {"computation_ns": 3, "exposed_communication_ns": 0, "exposed_copy_ns": copies}
    timeline = {**parts, "busy_ns": 4, "total_ns": 9}
    ended = Ended(["trace", "--json"], 0, json.dumps({"traces": [{"timelines": [timeline]}]}), "")
    assert bool(check_trace([ended])) is found


@pytest.mark.parametrize(
    ("program", "busy", "waiting", "line"),
    [
        ("print('done')", 60.0, 60.0, b"done\n"),
        ("while True: pass", 0.02, 60.0, None),
        ("input()", 60.0, 0.02, None),
    ],
    ids=["ends", "loops", "waits"],
)
def test_a_worker_that_loops_or_waits_for_ever_is_found(
    program: str, busy: float, waiting: float, line: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "BUSY_SECONDS", busy)
    monkeypatch.setattr(campaign, "WAITING_SECONDS", waiting)
    monkeypatch.setattr(campaign, "LOOK_SECONDS", 0.01)
    command = [sys.executable, "-S", "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            assert campaign.next_line(child) == line
        finally:
            child.kill()
