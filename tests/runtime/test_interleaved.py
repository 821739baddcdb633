"""Pipelines that are measured in turns."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest

import diffprof
from diffprof.comparison.times import measured_in_turns, time_changes
from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from diffprof.runtime.instrumentation import iteration_recorder
from tests.small_pipelines import SMALL_PIPELINES

SMALL = SMALL_PIPELINES["dit"]


def measure_pipelines(count: int, iterations: int = 3) -> tuple[Profile, ...]:
    pipelines = [SMALL.build() for _ in range(count)]
    return diffprof.measure_in_turns(*pipelines, warmup=1, iterations=iterations, **SMALL.arguments())


def test_each_pipeline_has_a_profile_of_its_own_and_all_belong_together() -> None:
    one, other = measure_pipelines(2)
    assert one.measured is not None and other.measured is not None
    assert [iteration.warmup for iteration in one.measured.iterations] == [True, False, False, False]
    assert len(other.measured.timed_iterations) == 3
    assert one.measured.turns == other.measured.turns is not None
    assert measured_in_turns(one.measured, other.measured)
    assert one.total == other.total
    assert one.total.macs > 0


@pytest.mark.extensive
def test_measuring_again_is_another_measurement() -> None:
    first, second = measure_pipelines(2, 1)[0].measured, measure_pipelines(2, 1)[0].measured
    assert first is not None and second is not None
    assert first.turns != second.turns
    assert not measured_in_turns(first, second)


def test_the_pipelines_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    pipelines: list[Any] = [SMALL.build() for _ in range(3)]
    order: list[int] = []
    original = type(pipelines[0]).__call__

    @functools.wraps(original)
    def record_turn(self: Any, *arguments: Any, **named: Any) -> Any:
        order.extend(number for number, pipeline in enumerate(pipelines) if pipeline is self)
        return original(self, *arguments, **named)

    monkeypatch.setattr(type(pipelines[0]), "__call__", record_turn)
    diffprof.measure_in_turns(*pipelines, warmup=0, iterations=8, **SMALL.arguments())
    # The dry runs call them too, before the first round.
    rounds = [tuple(order[-21:][start : start + 3]) for start in range(0, 21, 3)]
    assert all(sorted(one) == [0, 1, 2] for one in rounds)
    assert len(set(rounds)) > 2, "each round has an order of its own"


def test_the_cpu_time_of_a_call_is_that_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = itertools.count(0, 1_000_000)
    monkeypatch.setattr(iteration_recorder.time, "process_time_ns", lambda: next(readings))
    one, other = measure_pipelines(2)
    assert one.measured is not None
    assert {iteration.cpu_ns for iteration in one.measured.iterations} == {1_000_000}
    assert [change.name for change in time_changes(one, other)][:3] == ["whole call", "CPU time", "step"]


def test_pipelines_that_cannot_take_turns_are_rejected_with_a_message() -> None:
    pipeline = SMALL.build()
    for pipelines in ((pipeline,), (pipeline, pipeline)):
        with pytest.raises(RequestError, match="at least two different pipelines"):
            diffprof.measure_in_turns(*pipelines, **SMALL.arguments())
    with pytest.raises(RequestError, match="needs at least one iteration"):
        diffprof.measure_in_turns(pipeline, SMALL.build(), iterations=0, **SMALL.arguments())
    with pytest.raises(RequestError, match="cannot measure a str"):
        diffprof.measure_in_turns("sdxl", pipeline, **SMALL.arguments())
