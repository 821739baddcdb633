"""Progress: what is said, and the time that is left by an injected clock."""

from __future__ import annotations

import pytest

from diffprof.generation.progress import Pace, Reports, StoppedByCaller, passing_on


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_follows_from_the_steps_that_were_done() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    pace.begin()
    clock.now += 50  # loading takes no part in it
    assert pace.seconds_left(1, 10) is None
    clock.now += 2
    assert pace.seconds_left(2, 10) == 16
    clock.now += 4
    assert pace.seconds_left(3, 10) == 3 * 7


def test_models_that_are_still_to_come_take_as_long_as_those_before() -> None:
    clock = Clock()
    pace = Pace(count=3, clock=clock)
    pace.begin()
    clock.now += 40
    pace.end()
    pace.begin()
    clock.now += 10
    assert pace.seconds_left(1, 3) is None
    clock.now += 5
    # 5 s for the step that is left here; this model will take 20 s, the first took 40: 30 s for the third.
    assert pace.seconds_left(2, 3) == 5 + 30


def test_a_pipeline_that_does_not_tell_how_many_steps_has_no_time_left() -> None:
    pace = Pace(clock=Clock())
    pace.begin()
    assert [pace.seconds_left(done, None) for done in (1, 2)] == [None, None]


def test_each_step_says_how_long_it_took() -> None:
    clock, told = Clock(), list[str]()
    reports = Reports(lambda message, *steps: told.append(message), Pace(clock=clock))
    reports.pace.begin()
    for seconds, done in ((3, 1), (0.5, 2), (2, 4), (9, 1), (0.25, 2)):
        clock.now += seconds
        reports.step("sd", done, 4)
    assert told == [
        "sd, step 1 of 4",
        "sd, step 2 of 4 (500.0ms), about 1.00 s left",
        "sd, step 4 of 4 (1.000s)",
        "sd, step 1 of 4",
        "sd, step 2 of 4 (250.0ms), about 0.50 s left",
    ]


def test_a_second_loop_begins_anew() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    pace.begin()
    for done in (1, 2, 3):
        clock.now += 1
        pace.seconds_left(done, 3)
    clock.now += 7
    assert pace.seconds_left(1, 4) is None
    clock.now += 2
    assert pace.seconds_left(2, 4) == 4


def test_the_place_in_a_batch_is_said() -> None:
    told: list[tuple[str, int | None, int | None]] = []
    reports = Reports(lambda *report: told.append(report), Pace(count=2, clock=Clock()))
    reports.pace.begin()
    reports.tell("loading unet", 1, 3)
    reports.pace.end()
    reports.pace.begin()
    reports.step("sd", 1, 20)
    reports.step("sd", 2, None)
    assert told == [
        ("1 of 2: loading unet", 1, 3),
        ("2 of 2: sd, step 1 of 20", 1, 20),
        ("2 of 2: sd, step 2", 2, None),
    ]


def test_what_a_callback_raises_passes_all_that_handles_exceptions() -> None:
    def raise_it(*report: object) -> None:
        raise ValueError("enough")

    reports = Reports(raise_it)
    with pytest.raises(StoppedByCaller):
        try:
            reports.tell("now")
        except Exception:  # noqa: BLE001  as the libraries do
            pytest.fail("it was taken for an error of the model")
    with pytest.raises(ValueError, match="enough"), passing_on():
        reports.tell("now")


def test_nobody_has_to_listen() -> None:
    Reports(None).step("sd", 1, 2)
