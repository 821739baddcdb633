"""Iterations of a loop: each is timed, the warm-up is apart, and the first one is never lost."""

from __future__ import annotations

import json

import pytest

from diffprof.errors import RequestError
from diffprof.runtime.timing.loop_timer import LoopTimer
from diffprof.runtime.timing.sections import SectionRecorder
from tests.runtime.timing.fakes import FakeAccelerator, FakeClock, timer_of


def run(iterations: LoopTimer, clock: FakeClock, *milliseconds: float) -> LoopTimer:
    for each in milliseconds:
        with iterations.iteration():
            clock.pass_milliseconds(each)
    return iterations


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_the_statistics_leave_the_warm_up_out_and_show_it_apart(clock: FakeClock) -> None:
    steps = run(LoopTimer("steps", warmup=2, clock=clock, device=timer_of(None)), clock, 900, 300, 10, 20, 60)
    stats, warm_up = steps.statistics, steps.warm_up
    assert stats is not None and warm_up is not None
    assert (stats["count"], stats["mean"], stats["median"]) == (3, 0.03, 0.02)
    assert (stats["min"], stats["max"]) == (0.01, 0.06)
    assert stats["spread"] == pytest.approx(stats["std"] / 0.03)
    assert (warm_up["count"], warm_up["max"]) == (2, 0.9)
    assert steps.first_seconds == 0.9


def test_without_warm_up_the_first_iteration_is_one_like_the_others(clock: FakeClock) -> None:
    steps = run(LoopTimer("steps", clock=clock, device=timer_of(None)), clock, 500, 10)
    assert steps.statistics is not None and steps.statistics["count"] == 2
    assert (steps.warm_up, steps.first_seconds) == (None, 0.5)


def test_a_loop_that_was_only_warm_up_has_no_statistics(clock: FakeClock) -> None:
    steps = run(LoopTimer("steps", warmup=5, clock=clock, device=timer_of(None)), clock, 3, 2)
    assert steps.statistics is None
    assert steps.to_dict()["warm_up_samples"] == [0.003, 0.002]


def test_all_samples_come_in_order_as_valid_json(clock: FakeClock) -> None:
    steps = run(LoopTimer("steps", warmup=1, clock=clock, device=timer_of(None)), clock, 9, 5, 7, 6)
    data = json.loads(json.dumps(steps.to_dict()))
    assert (data["name"], data["warmup"], data["first"]) == ("steps", 1, 0.009)
    assert (data["samples"], data["warm_up_samples"]) == ([0.005, 0.007, 0.006], [0.009])


def test_the_first_of_very_many_iterations_is_still_known(clock: FakeClock) -> None:
    steps = run(LoopTimer("steps", clock=clock, device=timer_of(None)), clock, 777, *[1] * 6000)
    data = steps.to_dict()
    assert (data["first"], data["statistics"]["count"], data["samples"]) == (0.777, 6001, None)
    assert data["statistics"]["max"] == 0.777


def test_an_iteration_that_fails_is_counted_and_marked(clock: FakeClock) -> None:
    steps = run(LoopTimer("steps", clock=clock, device=timer_of(None)), clock, 1)
    with pytest.raises(KeyError), steps.iteration():
        raise KeyError
    assert steps.statistics is not None
    assert (steps.statistics["count"], steps.statistics["errors"]) == (2, 1)


def test_iterations_have_device_time_too(clock: FakeClock) -> None:
    gpu = FakeAccelerator()
    steps = LoopTimer("steps", clock=clock, device=timer_of(gpu))
    for _ in range(3):
        with steps.iteration():
            gpu.launch(20)
    assert steps.statistics is not None and steps.statistics["device"]["mean"] == 0.02
    assert gpu.synchronized == 0


def test_sections_inside_keep_their_own_paths(clock: FakeClock) -> None:
    recorder = SectionRecorder(clock=clock, device=timer_of(None))
    steps = LoopTimer("steps", clock=clock, device=timer_of(None))
    with recorder.section("generate"), steps.iteration(), recorder.section("unet"):
        pass
    assert set(recorder.timings.get_all_stats()) == {"generate", "generate/unet"}


def test_a_reset_starts_with_the_warm_up_again(clock: FakeClock) -> None:
    steps = run(LoopTimer("steps", warmup=1, clock=clock, device=timer_of(None)), clock, 1, 2)
    steps.reset()
    assert (steps.first_seconds, steps.statistics, steps.warm_up) == (None, None, None)
    run(steps, clock, 4, 5)
    assert steps.first_seconds == 0.004
    assert steps.statistics is not None and steps.statistics["total"] == 0.005


def test_a_negative_warm_up_is_rejected() -> None:
    with pytest.raises(RequestError, match="warmup is -1"):
        LoopTimer("steps", warmup=-1)
