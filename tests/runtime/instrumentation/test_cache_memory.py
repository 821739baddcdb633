"""How many bytes the caches of diffusers hold."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from diffprof.counting.dry_run import dry_run
from diffprof.runtime.instrumentation import cache_lookups
from diffprof.runtime.instrumentation.cache_memory import peak_cache_bytes
from diffprof.runtime.instrumentation.cache_replay import replay_decisions
from tests.extensive import split_cases
from tests.runtime.instrumentation.cached_runs import (
    CASES,
    counted_run,
    macs_of,
    monitored_calls,
)


@pytest.mark.parametrize("name", split_cases(CASES, always=("first block, all fits", "taylor seer", "texts")))
def test_the_peak_memory_of_a_cache_is_known_after_it_was_emptied(name: str) -> None:
    case = CASES[name]
    pipeline = case.build()
    assert set(peak_cache_bytes(pipeline).values()) == {0}
    with monitored_calls(pipeline):
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
    with monitored_calls(pipeline):
        pipeline(**case.arguments())
    handle.remove()
    text, image = sizes[:2]
    # Outputs of the first block for both, its residual for the image, residuals of the rest for both.
    assert peak_cache_bytes(pipeline) == {"FirstBlockCache": 2 * text + 3 * image}


def test_a_pipeline_without_caches_holds_nothing_and_looks_nothing_up() -> None:
    case = CASES["first block, all fits"]
    pipeline: Any = case.small.build()
    events, macs = counted_run(pipeline, case.arguments())
    assert events == ()
    assert peak_cache_bytes(pipeline) == {}
    assert macs_of(dry_run(pipeline, case.arguments(), changes=replay_decisions(()))) == macs


def _state_of_first(pipeline: Any, kind: str) -> Any:
    return next(hook.state for _, _, hook in cache_lookups.cache_hooks(pipeline) if type(hook).__name__ == kind)
