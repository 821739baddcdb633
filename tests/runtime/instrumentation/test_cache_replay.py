"""Caches in a dry run: what is counted is what ran, to the integer."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from diffprof.counting.dry_run import dry_run
from diffprof.errors import DiffprofError
from diffprof.runtime.instrumentation.cache_replay import remove_caches, replay_decisions
from tests.counting.state import differences, state_of
from tests.extensive import split_cases
from tests.runtime.instrumentation.cached_runs import (
    ALL,
    CASES,
    ONE_OF_EACH_KIND,
    counted_run,
    macs_of,
    monitored_calls,
    run_of,
)


@pytest.mark.parametrize("name", split_cases(ALL, always=(*ONE_OF_EACH_KIND[:5], "texts", "first block, by values")))
def test_what_ran_is_counted_to_the_integer_by_a_dry_run_that_decides_the_same(name: str) -> None:
    case = ALL[name]
    pipeline, events, macs = run_of(name)
    executed = dry_run(pipeline, case.arguments(), changes=replay_decisions(events))
    nominal = dry_run(pipeline, case.arguments(), prepare=lambda: remove_caches(pipeline))
    assert macs_of(executed) == macs
    assert not executed.assumptions, "nothing is guessed that the real run has shown"
    if any(event.hit for event in events):
        assert macs_of(executed) < macs_of(nominal)
    else:
        assert macs_of(executed) == macs_of(nominal)


@pytest.mark.parametrize("name", split_cases(ONE_OF_EACH_KIND, always=("faster cache",)))
def test_without_caches_it_costs_what_it_costs_when_none_is_enabled(name: str) -> None:
    case = CASES[name]
    pipeline = case.build()
    nominal = dry_run(pipeline, case.arguments(), prepare=lambda: remove_caches(pipeline))
    pipeline.transformer.disable_cache()
    assert macs_of(nominal) == macs_of(dry_run(pipeline, case.arguments()))
    _, macs = counted_run(pipeline, case.arguments())
    assert macs_of(nominal) == macs


def test_a_compiled_cache_that_decides_by_the_step_is_counted_without_being_observed() -> None:
    case = CASES["attention broadcast"]
    _, _, macs = run_of("attention broadcast")
    pipeline = case.build()
    pipeline.transformer.compile(backend="eager")
    with monitored_calls(pipeline) as calls:
        pipeline(**case.arguments())
    assert calls[0].iteration.caches == ()
    assert macs_of(dry_run(pipeline, case.arguments(), changes=replay_decisions(()))) == macs


@pytest.mark.parametrize("name", split_cases(ONE_OF_EACH_KIND, always=("magnitudes",)))
def test_what_a_failed_call_has_left_in_a_cache_stays_and_does_not_disturb_the_count(name: str) -> None:
    case = CASES[name]
    _, events, macs = run_of(name)
    pipeline = case.build()

    calls = iter(range(case.steps))

    def stop(module: Any, args: Any) -> None:
        if next(calls) == 2:
            raise InterruptedError

    handle = pipeline.transformer.proj_out.register_forward_pre_hook(stop)
    with pytest.raises(InterruptedError):
        pipeline(**case.arguments())
    handle.remove()
    before = state_of(pipeline)
    executed = dry_run(pipeline, case.arguments(), changes=replay_decisions(events))
    nominal = dry_run(pipeline, case.arguments(), prepare=lambda: remove_caches(pipeline))
    assert macs_of(executed) == macs
    assert macs_of(nominal) == macs_of(dry_run(case.small.build(), case.arguments()))
    assert differences(before, state_of(pipeline)) == []


def test_a_dry_run_that_decides_differently_is_rejected() -> None:
    case = CASES["attention broadcast"]
    pipeline, events, _ = run_of("attention broadcast")
    with pytest.raises(
        DiffprofError, match=r"PyramidAttentionBroadcast at transformer\.\S+ had the result in the real run"
    ):
        dry_run(pipeline, case.arguments(), changes=replay_decisions(events[1:]))


@pytest.mark.parametrize(
    "name",
    split_cases(
        ["first block, all fits", "sea", "attention broadcast"], always=("first block, all fits", "attention broadcast")
    ),
)
def test_a_dry_run_with_more_lookups_than_were_recorded_is_rejected(name: str) -> None:
    case = CASES[name]
    pipeline, events, _ = run_of(name)
    with pytest.raises(DiffprofError, match="in the real run is unknown"):
        dry_run(pipeline, case.arguments(), changes=replay_decisions(events[:-1]))


def test_a_hit_on_what_an_earlier_call_had_left_is_rejected_by_name() -> None:
    case = CASES["first block, all fits"]
    pipeline, events, _ = run_of("first block, all fits")
    with pytest.raises(DiffprofError, match="an earlier call"):
        dry_run(pipeline, case.arguments(), changes=replay_decisions((*events[1:], events[1])))


def test_texts_too_large_to_be_real_in_a_dry_run_are_distinguished() -> None:
    case = CASES["texts"]
    pipeline, events, macs = run_of("texts")
    virtual = {
        name: value.to("meta") if isinstance(value, torch.Tensor) else value for name, value in case.arguments().items()
    }
    assert macs_of(dry_run(pipeline, virtual, changes=replay_decisions(events))) == macs


def test_a_calibration_in_a_dry_run_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES["magnitudes, calibrated"]
    pipeline = case.build()
    events, _ = counted_run(pipeline, case.arguments())
    assert "Calibration" in capsys.readouterr().out
    dry_run(pipeline, case.arguments(), changes=replay_decisions(events))
    assert capsys.readouterr().out == ""
