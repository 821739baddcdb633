"""Events of the caches of a monitored pipeline, which is left as it was."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
import torch

from diffprof.counting.dry_run import dry_run
from diffprof.runtime.instrumentation.cache_events import record_cache_events
from diffprof.runtime.instrumentation.cache_replay import remove_caches, replay_decisions
from tests.counting.state import differences, state_of
from tests.extensive import split_cases
from tests.runtime.instrumentation.cached_runs import (
    CASES,
    Case,
    counted_run,
    macs_of,
    monitored_calls,
    run_of,
    written,
)


@pytest.mark.parametrize("name", split_cases(CASES, always=("first block, guidance", "taylor seer", "texts")))
def test_an_event_says_where_and_in_which_step(name: str) -> None:
    case = CASES[name]
    pipeline, events, _ = run_of(name)
    paths = dict(pipeline.transformer.named_modules())
    assert {event.component for event in events} == {"transformer"}
    assert all(event.module in paths for event in events)
    steps = [event.step for event in events]
    assert steps == sorted(steps, key=lambda step: -1 if step is None else step)
    assert set(steps) == set(range(case.steps))
    moments = [event.at_ns for event in events]
    assert moments == sorted(moments)


def test_a_cache_enabled_while_the_pipeline_is_monitored_is_recorded() -> None:
    case = CASES["first block, all fits"]
    pipeline: Any = case.small.build()
    with monitored_calls(pipeline) as calls:
        pipeline(**case.arguments())
        pipeline.transformer.enable_cache(case.config(pipeline))
        pipeline(**case.arguments())
    assert [written(call.iteration.caches) for call in calls] == [{}, case.decisions]


@pytest.mark.parametrize("name", split_cases(CASES, always=("attention broadcast", "taylor seer")))
def test_the_result_is_the_same_and_the_pipeline_is_left_unchanged(name: str) -> None:
    case = CASES[name]
    pipeline = case.build()
    plain = pipeline(**case.arguments())[0]
    before = state_of(pipeline)
    with monitored_calls(pipeline) as calls:
        seen = pipeline(**case.arguments())[0]
    assert torch.equal(torch.as_tensor(plain), torch.as_tensor(seen))
    dry_run(pipeline, case.arguments(), changes=replay_decisions(calls[0].iteration.caches))
    dry_run(pipeline, case.arguments(), prepare=lambda: remove_caches(pipeline))
    assert _of_hooks(differences(before, state_of(pipeline))) == []


def test_the_classes_of_diffusers_are_restored_when_the_last_monitor_ends() -> None:
    from diffusers.hooks import hooks, sea_cache, taylorseer_cache
    from diffusers.hooks.first_block_cache import FBCHeadBlockHook

    owners = [
        hooks.HookFunctionReference, hooks.HookRegistry, FBCHeadBlockHook, taylorseer_cache.TaylorSeerCacheHook,
        sea_cache.SeaCacheRootHook,
    ]  # fmt: skip
    before = [dict(vars(owner)) for owner in owners]
    undo = [record_cache_events(), record_cache_events()]
    assert [dict(vars(owner)) for owner in owners] != before
    undo[0]()
    undo[0]()
    assert [dict(vars(owner)) for owner in owners] != before, "the other one still watches"
    undo[1]()
    assert [dict(vars(owner)) for owner in owners] == before


def test_a_diffusers_without_some_of_the_caches_is_monitored_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from diffusers.hooks import sea_cache

    monkeypatch.delattr(sea_cache, "SeaCacheRootHook")
    monkeypatch.delattr(sea_cache, "SeaCacheSharedState")
    monkeypatch.setitem(sys.modules, "diffusers.hooks.taylorseer_cache", None)
    case = CASES["first block, all fits"]
    pipeline = case.build()
    events, macs = counted_run(pipeline, case.arguments())
    assert written(events) == case.decisions
    assert macs_of(dry_run(pipeline, case.arguments(), changes=replay_decisions(events))) == macs


def test_two_pipelines_at_once_do_not_mix() -> None:
    cases = [CASES["first block, all fits"], CASES["attention broadcast"]]
    pipelines = [case.build() for case in cases]
    meet = threading.Barrier(2)

    def together(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        meet.wait(timeout=600)
        return tensors

    def run(case: Case, pipeline: Any) -> None:
        pipeline(**case.arguments(), callback_on_step_end=together)

    with monitored_calls(pipelines[0]) as first, monitored_calls(pipelines[1]) as second:
        threads = [threading.Thread(target=run, args=pair) for pair in zip(cases, pipelines, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [written(calls[0].iteration.caches) for calls in (first, second)] == [case.decisions for case in cases]


def test_another_pipeline_inside_a_monitored_one_is_not_mistaken_for_it() -> None:
    case, other = CASES["first block, all fits"], CASES["attention broadcast"]
    pipeline, inner = case.build(), other.build()

    def more(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        if step == 1:
            inner(**other.arguments())
        return tensors

    with monitored_calls(pipeline) as calls:
        pipeline(**case.arguments(), callback_on_step_end=more)
    assert written(calls[0].iteration.caches) == case.decisions


def _of_hooks(paths: list[str]) -> list[str]:
    """The pipeline itself remembers its last call: its timestep and the like."""
    return [path for path in paths if "_diffusers_hook" in path or "forward" in path]
