"""How often the pipeline is dry-run for a measurement: once, unless something differs from what was rehearsed."""

from __future__ import annotations

from typing import Any

import pytest

import diffprof
from diffprof.counting.dry_run import _DryRun
from tests.runtime.instrumentation.cached_runs import CASES
from tests.small_pipelines import SMALL_PIPELINES

SMALL, WITH_CALLBACKS = SMALL_PIPELINES["dit"], SMALL_PIPELINES["stable-diffusion"]


@pytest.fixture
def dry_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The classes of the pipelines that were dry-run, in order."""
    names: list[str] = []
    execute = _DryRun.execute

    def record(self: Any, *arguments: Any) -> None:
        names.append(type(self.pipeline).__name__)
        execute(self, *arguments)

    monkeypatch.setattr(_DryRun, "execute", record)
    return names


def measure(pipeline: Any, **arguments: Any) -> diffprof.Profile:
    return diffprof.measure(pipeline, warmup=1, iterations=1, sample_hz=0, **arguments).profile


def test_a_measured_call_is_dry_run_once(dry_runs: list[str]) -> None:
    pipeline = SMALL.build()
    measured = measure(pipeline, **SMALL.arguments())
    assert len(dry_runs) == 1
    counted = diffprof.profile(pipeline, **SMALL.arguments())
    assert (measured.total, measured.steps, measured.calls) == (counted.total, counted.steps, counted.calls)


def test_a_callback_that_changes_nothing_needs_no_second_dry_run(dry_runs: list[str]) -> None:
    arguments = {**WITH_CALLBACKS.arguments(), "callback_on_step_end": lambda pipe, step, timestep, values: {}}
    measure(WITH_CALLBACKS.build(), **arguments)
    assert len(dry_runs) == 1


def test_a_callback_that_changes_something_does(dry_runs: list[str]) -> None:
    def rescale_guidance(pipe: Any, step: int, timestep: Any, values: dict[str, Any]) -> dict[str, Any]:
        pipe._guidance_rescale = 0.5
        return {}

    measure(WITH_CALLBACKS.build(), callback_on_step_end=rescale_guidance, **WITH_CALLBACKS.arguments())
    assert len(dry_runs) == 2


def test_pipelines_measured_in_turns_are_dry_run_once_each(dry_runs: list[str]) -> None:
    diffprof.measure_in_turns(SMALL.build(), SMALL.build(), warmup=1, iterations=2, **SMALL.arguments())
    assert len(dry_runs) == 2


def test_a_cache_needs_one_more_dry_run_and_what_it_saves_none(dry_runs: list[str]) -> None:
    case = CASES["first block, all fits"]
    pipeline = case.build()
    run = diffprof.measure(pipeline, warmup=0, iterations=1, sample_hz=0, **case.arguments())
    assert len(dry_runs) == 2
    assert run.profile.measured is not None
    pipeline.transformer.disable_cache()
    nominal = diffprof.profile(pipeline, **case.arguments())
    assert run.profile.measured.nominal_macs == {"transformer": nominal.components["transformer"].macs}


def test_calls_that_differ_are_each_dry_run(dry_runs: list[str]) -> None:
    pipeline: Any = SMALL.build()
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        for steps in (2, 2, 3):
            pipeline(**{**SMALL.arguments(), "num_inference_steps": steps})
    assert len(run.profiles) == len(dry_runs) == 2
