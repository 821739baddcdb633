"""A sweep from its first point to its last: order, failures, resuming, asking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import diffprof
from diffprof.errors import MissingLibraryError, RequestError
from diffprof.record.progress import Activity, ProgressEvent
from diffprof.record.request import Request
from diffprof.sweeps import run as running
from diffprof.sweeps import workers
from diffprof.sweeps.axes import create_sweep
from diffprof.sweeps.records import Row, SweepMeasurement, Task, TaskOutcome
from diffprof.sweeps.run import SweepOptions, run_sweep
from tests.sample_profiles import stable_diffusion
from tests.sweeps.saved_sweeps import rows_in_process, saved_sweep


class Answering:
    """Stands in for worker processes: one row for each request, and a failure for a height of 13."""

    asked: list[Task]

    def __init__(self, count: int) -> None:
        self.count = count

    def answers(self, tasks: Iterable[Task]) -> Iterator[TaskOutcome]:
        # Others finish in another order than they were begun in.
        for task in reversed(list(tasks)):
            type(self).asked.append(task)
            height = task.request.arguments.get("height")
            if height == 13:
                yield TaskOutcome(task, error="no such height")
            else:
                yield TaskOutcome(
                    task, (replace(ROW, height=height, steps=task.request.arguments["num_inference_steps"]),)
                )


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> type[Answering]:
    Answering.asked = []
    monkeypatch.setattr(workers, "WorkerProcesses", Answering)
    # Whatever laws there are: here every request is one for a worker.
    monkeypatch.setattr(running, "is_known", lambda task: False)
    monkeypatch.setattr(running, "evaluate_known", lambda task: None)
    return Answering


@pytest.fixture(autouse=True, scope="module")
def row(tmp_path_factory: pytest.TempPathFactory) -> None:
    global ROW
    (ROW,) = rows_in_process(saved_sweep(tmp_path_factory.mktemp("row"), models=1, gpus="l4"))


ROW: Row


def test_the_rows_are_in_the_order_of_the_sweep(answering: type[Answering]) -> None:
    result = run_sweep(create_sweep(Request(""), models="sdxl", heights="8..16:8", steps=[2, 1]))
    assert [(row.height, row.steps) for row in result] == [(8, 2), (8, 1), (16, 2), (16, 1)]


def test_failed_points_are_listed_and_the_rest_is_finished(answering: type[Answering]) -> None:
    result = run_sweep(create_sweep(Request(""), models="sdxl", heights=[12, 13, 14], steps=1))
    assert [row.height for row in result.rows] == [12, 14]
    assert [failure.error for failure in result.failures] == ["no such height"]


def test_a_sweep_goes_on_where_it_was_and_tries_failures_again(answering: type[Answering]) -> None:
    sweep = create_sweep(Request(""), models="sdxl", heights=[12, 13], steps=1)
    run_sweep(sweep)
    answering.asked.clear()
    larger = create_sweep(Request(""), models="sdxl", heights=[12, 13, 14], steps=1)
    result = run_sweep(larger)
    assert [task.request.arguments["height"] for task in answering.asked] == [14, 13]
    assert (result.kept, len(result.rows), len(result.failures)) == (1, 2, 1)
    answering.asked.clear()
    assert run_sweep(larger, SweepOptions(fresh=True)).kept == 0
    assert len(answering.asked) == 3


def test_a_sweep_that_is_interrupted_keeps_what_it_had(
    answering: type[Answering], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = create_sweep(Request(""), models="sdxl", heights=[1, 2, 3], steps=1)

    def interrupt(event: ProgressEvent) -> None:
        if event.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep, progress=interrupt)
    answering.asked.clear()
    assert run_sweep(sweep).kept == 2
    assert len(answering.asked) == 1


def test_progress_counts_requests(tmp_path: Path) -> None:
    events: list[ProgressEvent] = []
    run_sweep(saved_sweep(tmp_path, models=3), progress=events.append)
    assert [(event.activity, event.done, event.total) for event in events] == [
        (Activity.sweeping, number, 3) for number in (1, 2, 3)
    ]


def test_a_million_points_are_named_and_asked_about(answering: type[Answering]) -> None:
    sweep = create_sweep(Request(""), models="sdxl", heights="1..1000", steps="1..1000")
    asked: list[str] = []

    def no(message: str) -> bool:
        asked.append(message)
        return False

    with pytest.raises(RequestError, match=r"This sweep has 1,000,000 points.*; add --yes to run it anyway"):
        run_sweep(sweep, confirm=no)
    assert "1,000,000 points" in asked[0]
    with pytest.raises(RequestError, match="more than the limit of 2,000,000"):
        run_sweep(create_sweep(Request(""), models="sdxl", heights="1..3000", steps="1..1000"), confirm=lambda _: True)
    assert not answering.asked


def test_many_requests_that_take_seconds_are_asked_about(
    answering: type[Answering], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert running.MAX_UNCONFIRMED_COUNTS == 2_000
    monkeypatch.setattr(running, "MAX_UNCONFIRMED_COUNTS", 20)
    sweep = create_sweep(Request(""), models="sdxl", heights="1..30", steps=1)
    with pytest.raises(RequestError, match="30 points, and 30 of its requests take seconds each"):
        run_sweep(sweep)
    assert len(run_sweep(sweep, confirm=lambda message: True).rows) == 29, "and one of 13"


def test_a_measured_sweep_says_at_once_that_torch_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "can_count", lambda: False)
    with pytest.raises(MissingLibraryError, match="A measured sweep needs torch and diffusers"):
        run_sweep(create_sweep(Request(""), SweepMeasurement(), models="sdxl", steps="1..30"))


def test_a_saved_profile_varies_in_nothing_but_accelerators(tmp_path: Path) -> None:
    file = stable_diffusion().save(tmp_path / "p.json")
    with pytest.raises(RequestError, match="is a saved profile: num_inference_steps cannot vary"):
        diffprof.sweep(str(file), steps=[1, 2])
    assert len(diffprof.sweep(str(file), gpus=["l4", "t4"])) == 2


def test_python_and_the_command_line_are_the_same_sweep(tmp_path: Path) -> None:
    sweep = saved_sweep(tmp_path)
    assert set(diffprof.sweep(list(sweep.models), gpus="l4,h100-sxm").rows) == rows_in_process(sweep)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "slurm"}, "There is no engine 'slurm'; there are local, ray."),
        ({"to": "paper"}, "There is no tracker 'paper'; there are mlflow, wandb."),
        ({"models": "no-such-model"}, "Unknown model 'no-such-model'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_computed(
    options: dict[str, Any], message: str, answering: type[Answering]
) -> None:
    with pytest.raises(RequestError, match=message):
        diffprof.sweep(**{"models": "sdxl", **options})
    assert not answering.asked
