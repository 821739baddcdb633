"""Steps that are timed through a callback."""

from __future__ import annotations

from typing import Any

from diffprof.runtime.step_profiler import StepProfiler


def test_steps_are_timed_from_end_to_end_and_the_first_of_each_call_is_not_known() -> None:
    clock = iter(range(100))
    steps = StepProfiler(clock=lambda: float(next(clock)))
    for step in (0, 1, 2, 0, 1):
        assert steps(None, step, 999 - step, {"latents": step}) == {"latents": step}
    assert steps.seconds == [None, 1.0, 1.0, None, 1.0]
    assert steps.mean_seconds == 1.0
    assert repr(steps) == "<StepProfiler: 5 steps, 1 s each>"


def test_a_callback_of_ones_own_is_called_and_not_timed() -> None:
    clock = iter([0.0, 5.0, 6.0, 20.0])

    def own(pipeline: Any, step: int, timestep: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        return {"changed": step}

    steps = StepProfiler(own, clock=lambda: next(clock))
    assert [steps(None, step, 0, {})["changed"] for step in (0, 1)] == [0, 1]
    assert steps.seconds == [None, 1.0]
