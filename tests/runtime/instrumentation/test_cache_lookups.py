"""Lookups in the caches of diffusers: each is a hit or a miss, as worked out by hand."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
import torch

from diffprof.runtime.instrumentation import cache_lookups
from tests.extensive import split_cases
from tests.runtime.instrumentation.cached_runs import (
    BY_VALUES,
    CASES,
    ONE_OF_EACH_KIND,
    counted_run,
    monitored_calls,
    run_of,
    written,
)


@pytest.mark.parametrize("name", split_cases(CASES, always=ONE_OF_EACH_KIND))
def test_each_decision_equals_the_expected_one(name: str) -> None:
    _, events, _ = run_of(name)
    assert written(events) == CASES[name].decisions


@pytest.mark.parametrize("name", split_cases(BY_VALUES, always=("first block",)))
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


def test_distilled_guidance_has_no_unconditional_branch_to_look_up() -> None:
    case = CASES["faster cache"]
    pipeline = case.build()
    pipeline.transformer._diffusers_hook.hooks["faster_cache_denoiser"].is_guidance_distilled = True
    events, _ = counted_run(pipeline, case.arguments())
    assert {event.cache for event in events} == {"FasterCache"}


@pytest.mark.parametrize(
    "name", split_cases(["first block, all fits", "taylor seer", "magnitudes", "sea"], always=("magnitudes",))
)
def test_a_compiled_transformer_shows_what_its_cache_decides_and_is_not_recompiled(name: str) -> None:
    case = CASES[name]
    pipeline = case.build()
    pipeline.transformer.compile(backend="eager")
    plain = [pipeline(**case.arguments())[0] for _ in range(2)][-1]
    compiled = dict(torch._dynamo.utils.counters["frames"])
    with monitored_calls(pipeline) as calls:
        seen = pipeline(**case.arguments())[0]
    assert written(calls[0].iteration.caches) == case.decisions
    assert torch.equal(torch.as_tensor(plain), torch.as_tensor(seen))
    assert dict(torch._dynamo.utils.counters["frames"]) == compiled


@pytest.mark.parametrize("name", split_cases(["magnitudes", "attention broadcast"], always=("magnitudes",)))
def test_code_compiled_during_a_measurement_works_after_it(name: str) -> None:
    case = CASES[name]
    pipeline = case.build()
    plain = pipeline(**case.arguments())[0]
    pipeline.transformer.compile(backend="eager")
    with monitored_calls(pipeline):
        pipeline(**case.arguments())
    alone = [pipeline(**case.arguments())[0] for _ in range(2)][-1]
    compiled = dict(torch._dynamo.utils.counters["frames"])
    with monitored_calls(pipeline):
        pipeline(**case.arguments())
    pipeline(**case.arguments())
    assert torch.equal(torch.as_tensor(plain), torch.as_tensor(alone))
    assert dict(torch._dynamo.utils.counters["frames"]) == compiled
