"""Caches that skip work: each decision is seen, and what is counted is what ran, to the integer."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import threading
from functools import cache
from typing import Any

import pytest
import torch

from diffprof.counting.dry_run import dry_run
from diffprof.errors import DiffprofError
from diffprof.record.measured import CacheEvent
from diffprof.runtime.instrumentation import cache_lookups
from diffprof.runtime.instrumentation.cache_events import record_cache_events
from diffprof.runtime.instrumentation.cache_memory import peak_cache_bytes
from diffprof.runtime.instrumentation.cache_replay import remove_caches, replay_decisions
from tests.counting.state import differences, state_of
from tests.runtime.instrumentation.cached_runs import (
    BY_VALUES,
    CASES,
    Case,
    counted_run,
    macs_of,
    watched,
    written,
)

ALL = {**CASES, **{f"{name}, by values": case for name, case in BY_VALUES.items()}}


@cache
def run_of(name: str) -> tuple[Any, tuple[CacheEvent, ...], int]:
    """A pipeline that has run, what its caches decided, and the MACs of what ran. Dry runs leave it as it is."""
    case = ALL[name]
    pipeline = case.build()
    return pipeline, *counted_run(pipeline, case.arguments())


@pytest.mark.parametrize("name", CASES)
def test_each_decision_is_the_one_worked_out_by_hand(name: str) -> None:
    _, events, _ = run_of(name)
    assert written(events) == CASES[name].decisions


@pytest.mark.parametrize("name", ALL)
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


@pytest.mark.parametrize("name", CASES)
def test_without_caches_it_costs_what_it_costs_when_none_is_enabled(name: str) -> None:
    case = CASES[name]
    pipeline = case.build()
    nominal = dry_run(pipeline, case.arguments(), prepare=lambda: remove_caches(pipeline))
    pipeline.transformer.disable_cache()
    assert macs_of(nominal) == macs_of(dry_run(pipeline, case.arguments()))
    _, macs = counted_run(pipeline, case.arguments())
    assert macs_of(nominal) == macs


@pytest.mark.parametrize("name", BY_VALUES)
def test_a_cache_that_compares_tensors_decides_both_ways_here(name: str) -> None:
    """Else the tests with it would show less than they seem to."""
    _, events, _ = run_of(f"{name}, by values")
    assert {event.hit for event in events} == {True, False}


def test_every_cache_of_the_installed_diffusers_is_known_and_tried() -> None:
    import diffusers.hooks

    stateful = set()
    for found in pkgutil.iter_modules(diffusers.hooks.__path__):
        module = importlib.import_module(f"diffusers.hooks.{found.name}")
        stateful |= {
            name
            for name, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == module.__name__ and getattr(value, "_is_stateful", False)
        }
    assert stateful <= set(cache_lookups.CACHES)
    tried = {cache for case in CASES.values() for cache in case.decisions}
    assert tried == set(cache_lookups.CACHES.values())


@pytest.mark.parametrize("name", CASES)
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


def test_guidance_that_is_distilled_has_no_unconditional_branch_to_ask_for() -> None:
    case = CASES["faster cache"]
    pipeline = case.build()
    pipeline.transformer._diffusers_hook.hooks["faster_cache_denoiser"].is_guidance_distilled = True
    events, _ = counted_run(pipeline, case.arguments())
    assert {event.cache for event in events} == {"FasterCache"}


def test_a_cache_that_is_put_on_while_the_pipeline_is_watched_is_seen() -> None:
    case = CASES["first block, all fits"]
    pipeline: Any = case.small.build()
    with watched(pipeline) as calls:
        pipeline(**case.arguments())
        pipeline.transformer.enable_cache(case.config(pipeline))
        pipeline(**case.arguments())
    assert [written(call.iteration.caches) for call in calls] == [{}, case.decisions]


@pytest.mark.parametrize("name", ["first block, all fits", "taylor seer", "magnitudes", "sea"])
def test_a_compiled_transformer_shows_what_its_cache_decides_and_is_not_compiled_again(name: str) -> None:
    case = CASES[name]
    pipeline = case.build()
    pipeline.transformer.compile(backend="eager")
    plain = [pipeline(**case.arguments())[0] for _ in range(2)][-1]
    compiled = dict(torch._dynamo.utils.counters["frames"])
    with watched(pipeline) as calls:
        seen = pipeline(**case.arguments())[0]
    assert written(calls[0].iteration.caches) == case.decisions
    assert torch.equal(torch.as_tensor(plain), torch.as_tensor(seen))
    assert dict(torch._dynamo.utils.counters["frames"]) == compiled


@pytest.mark.parametrize("name", ["magnitudes", "attention broadcast"])
def test_what_was_compiled_while_somebody_watched_works_on_without(name: str) -> None:
    case = CASES[name]
    pipeline = case.build()
    plain = pipeline(**case.arguments())[0]
    pipeline.transformer.compile(backend="eager")
    with watched(pipeline):
        pipeline(**case.arguments())
    alone = [pipeline(**case.arguments())[0] for _ in range(2)][-1]
    compiled = dict(torch._dynamo.utils.counters["frames"])
    with watched(pipeline):
        pipeline(**case.arguments())
    pipeline(**case.arguments())
    assert torch.equal(torch.as_tensor(plain), torch.as_tensor(alone))
    assert dict(torch._dynamo.utils.counters["frames"]) == compiled


def test_a_compiled_cache_that_cannot_be_seen_is_counted_all_the_same_where_it_decides_by_the_step() -> None:
    case = CASES["attention broadcast"]
    _, _, macs = run_of("attention broadcast")
    pipeline = case.build()
    pipeline.transformer.compile(backend="eager")
    with watched(pipeline) as calls:
        pipeline(**case.arguments())
    assert calls[0].iteration.caches == ()
    assert macs_of(dry_run(pipeline, case.arguments(), changes=replay_decisions(()))) == macs


@pytest.mark.parametrize("name", CASES)
def test_the_result_is_the_same_and_the_pipeline_is_left_as_it_was(name: str) -> None:
    case = CASES[name]
    pipeline = case.build()
    plain = pipeline(**case.arguments())[0]
    before = state_of(pipeline)
    with watched(pipeline) as calls:
        seen = pipeline(**case.arguments())[0]
    assert torch.equal(torch.as_tensor(plain), torch.as_tensor(seen))
    dry_run(pipeline, case.arguments(), changes=replay_decisions(calls[0].iteration.caches))
    dry_run(pipeline, case.arguments(), prepare=lambda: remove_caches(pipeline))
    assert _of_hooks(differences(before, state_of(pipeline))) == []


@pytest.mark.parametrize("name", CASES)
def test_what_a_broken_call_has_left_in_a_cache_stays_there_and_does_not_disturb_the_count(name: str) -> None:
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


def test_the_classes_of_diffusers_are_put_back_when_the_last_watch_ends() -> None:
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


def test_a_diffusers_without_some_of_the_caches_is_watched_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
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
        meet.wait(timeout=60)
        return tensors

    def run(case: Case, pipeline: Any) -> None:
        pipeline(**case.arguments(), callback_on_step_end=together)

    with watched(pipelines[0]) as first, watched(pipelines[1]) as second:
        threads = [threading.Thread(target=run, args=pair) for pair in zip(cases, pipelines, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [written(calls[0].iteration.caches) for calls in (first, second)] == [case.decisions for case in cases]


def test_another_pipeline_inside_of_a_watched_one_is_not_taken_for_it() -> None:
    case, other = CASES["first block, all fits"], CASES["attention broadcast"]
    pipeline, inner = case.build(), other.build()

    def more(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        if step == 1:
            inner(**other.arguments())
        return tensors

    with watched(pipeline) as calls:
        pipeline(**case.arguments(), callback_on_step_end=more)
    assert written(calls[0].iteration.caches) == case.decisions


def test_a_dry_run_that_decides_otherwise_is_refused() -> None:
    case = CASES["attention broadcast"]
    pipeline, events, _ = run_of("attention broadcast")
    with pytest.raises(
        DiffprofError, match=r"PyramidAttentionBroadcast at transformer\.\S+ had the result in the real run"
    ):
        dry_run(pipeline, case.arguments(), changes=replay_decisions(events[1:]))


@pytest.mark.parametrize("name", ["first block, all fits", "sea", "attention broadcast"])
def test_a_dry_run_that_asks_for_more_than_was_recorded_is_refused(name: str) -> None:
    case = CASES[name]
    pipeline, events, _ = run_of(name)
    with pytest.raises(DiffprofError, match="not known what"):
        dry_run(pipeline, case.arguments(), changes=replay_decisions(events[:-1]))


def test_a_hit_on_what_an_earlier_call_had_left_is_refused_by_name() -> None:
    case = CASES["first block, all fits"]
    pipeline, events, _ = run_of("first block, all fits")
    with pytest.raises(DiffprofError, match="a call before"):
        dry_run(pipeline, case.arguments(), changes=replay_decisions((*events[1:], events[1])))


def test_texts_too_large_to_be_real_in_a_dry_run_are_told_apart() -> None:
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


@pytest.mark.parametrize("name", CASES)
def test_the_most_memory_that_a_cache_held_is_known_after_it_was_emptied(name: str) -> None:
    case = CASES[name]
    pipeline = case.build()
    assert set(peak_cache_bytes(pipeline).values()) == {0}
    with watched(pipeline):
        pipeline(**case.arguments())
    held = peak_cache_bytes(pipeline)
    assert set(held) == set(case.decisions)
    assert all(held.values())
    pipeline(**case.arguments())
    assert set(peak_cache_bytes(pipeline).values()) == {0}, "it was read, and nobody has monitored since"


def test_memory_is_counted_once_and_as_what_is_kept_alive() -> None:
    case = CASES["attention broadcast"]
    pipeline = case.build()
    state = _state_of_first(pipeline, "PyramidAttentionBroadcastHook")
    whole = torch.zeros(10, 4)
    state.cache = (whole[:1], whole[5:], torch.zeros(3, dtype=torch.float16))
    assert peak_cache_bytes(pipeline) == {"PyramidAttentionBroadcast": 10 * 4 * 4 + 3 * 2}
    state.cache = None
    assert peak_cache_bytes(pipeline) == {"PyramidAttentionBroadcast": 0}


def test_first_block_cache_holds_the_output_and_residuals_of_its_first_and_last_block() -> None:
    case = CASES["first block, all fits"]
    pipeline = case.build()
    sizes: list[int] = []
    block = pipeline.transformer.transformer_blocks[0]
    handle = block.register_forward_hook(lambda _m, _a, output: sizes.extend(part.nbytes for part in output[:2]))
    with watched(pipeline):
        pipeline(**case.arguments())
    handle.remove()
    text, image = sizes[:2]
    # Outputs of the first block for both, its residual for the image, residuals of the rest for both.
    assert peak_cache_bytes(pipeline) == {"FirstBlockCache": 2 * text + 3 * image}


def test_a_pipeline_without_caches_holds_nothing_and_asks_nothing() -> None:
    case = CASES["first block, all fits"]
    pipeline: Any = case.small.build()
    events, macs = counted_run(pipeline, case.arguments())
    assert events == ()
    assert peak_cache_bytes(pipeline) == {}
    assert macs_of(dry_run(pipeline, case.arguments(), changes=replay_decisions(()))) == macs


def _of_hooks(paths: list[str]) -> list[str]:
    """The pipeline itself remembers its last call: its timestep and the like."""
    return [path for path in paths if "_diffusers_hook" in path or "forward" in path]


def _state_of_first(pipeline: Any, kind: str) -> Any:
    return next(hook.state for _, _, hook in cache_lookups.cache_hooks(pipeline) if type(hook).__name__ == kind)
