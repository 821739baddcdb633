"""Progress of generations: the events, and the time that is left by an injected clock."""

from __future__ import annotations

import pytest

from diffprof.generation.progress import CallbackError, Pace, ProgressReporter, raise_callback_errors
from diffprof.record.progress import Activity, Position, ProgressEvent

NOW = ProgressEvent(Activity.loading, "unet", 1, 3)


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
    assert pace.remaining_seconds(1, 10) is None
    clock.now += 2
    assert pace.remaining_seconds(2, 10) == 16
    clock.now += 4
    assert pace.remaining_seconds(3, 10) == 3 * 7


def test_models_that_are_still_to_come_take_as_long_as_those_before() -> None:
    clock = Clock()
    pace = Pace(count=3, clock=clock)
    pace.begin()
    clock.now += 40
    pace.end()
    pace.begin()
    clock.now += 10
    assert pace.remaining_seconds(1, 3) is None
    clock.now += 5
    # 5 s for the step that is left here; this model will take 20 s, the first took 40: 30 s for the third.
    assert pace.remaining_seconds(2, 3) == 5 + 30


def test_without_a_known_number_of_steps_there_is_no_remaining_time() -> None:
    pace = Pace(clock=Clock())
    pace.begin()
    assert [pace.remaining_seconds(done, None) for done in (1, 2)] == [None, None]


def test_each_step_says_how_long_it_took() -> None:
    clock, events = Clock(), list[ProgressEvent]()
    reporter = ProgressReporter(events.append, Pace(clock=clock))
    reporter.pace.begin()
    for seconds, done in ((3, 1), (0.5, 2), (2, 4), (9, 1), (0.25, 2)):
        clock.now += seconds
        reporter.report_step("sd", done, 4)
    assert [(event.done, event.step_seconds, event.remaining_seconds) for event in events] == [
        (1, None, None),
        (2, 0.5, 1.0),
        (4, 1.0, 0.0),
        (1, None, None),
        (2, 0.25, 0.5),
    ]
    assert {(event.activity, event.subject, event.total) for event in events} == {(Activity.denoising, "sd", 4)}


def test_a_second_loop_starts_from_zero() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    pace.begin()
    for done in (1, 2, 3):
        clock.now += 1
        pace.remaining_seconds(done, 3)
    clock.now += 7
    assert pace.remaining_seconds(1, 4) is None
    clock.now += 2
    assert pace.remaining_seconds(2, 4) == 4


def test_every_event_has_its_position_in_the_batch() -> None:
    events: list[ProgressEvent] = []
    reporter = ProgressReporter(events.append, Pace(count=2, clock=Clock()))
    reporter.pace.begin()
    reporter.report(NOW)
    reporter.pace.end()
    reporter.pace.begin()
    reporter.report_step("sd", 1, 20)
    reporter.report_step("sd", 2, None)
    assert events == [
        ProgressEvent(Activity.loading, "unet", 1, 3, model=Position(1, 2)),
        ProgressEvent(Activity.denoising, "sd", 1, 20, model=Position(2, 2)),
        ProgressEvent(Activity.denoising, "sd", 2, None, step_seconds=0.0, model=Position(2, 2)),
    ]


def test_what_a_callback_raises_passes_all_that_handles_exceptions() -> None:
    def raise_it(event: ProgressEvent) -> None:
        raise ValueError("enough")

    reporter = ProgressReporter(raise_it)
    with pytest.raises(CallbackError):
        try:
            reporter.report(NOW)
        except Exception:  # noqa: BLE001  as the libraries do
            pytest.fail("it was taken for an error of the model")
    with pytest.raises(ValueError, match="enough"), raise_callback_errors():
        reporter.report(NOW)


def test_without_a_callback_the_steps_are_still_timed() -> None:
    clock = Clock()
    reporter = ProgressReporter(None, Pace(clock=clock))
    reporter.pace.begin()
    for done in (1, 2):
        clock.now += 3
        reporter.report_step("sd", done, 2)
    assert reporter.pace.step_seconds == 3
