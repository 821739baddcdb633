"""A user's own cache: counts by itself, and is part of the run where a pipeline is measured."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

import diffprof
from diffprof.errors import RequestError
from diffprof.runtime.instrumentation.cache_memory import peak_cache_bytes
from diffprof.runtime.instrumentation.cache_recorder import CacheRecorder
from tests.children import run_child
from tests.runtime.instrumentation.cached_runs import monitored_calls
from tests.small_pipelines import SMALL_PIPELINES

STEPS = 3


def test_it_counts_without_any_pipeline() -> None:
    kv = CacheRecorder("kv")
    assert kv.rate is None, "nobody asked: that is not a rate of zero"
    for _ in range(3):
        kv.hit()
    kv.miss(nbytes=100)
    kv.holds(40)
    assert (kv.hits, kv.misses, kv.lookups, kv.rate) == (3, 1, 4, 0.75)
    assert (kv.held_bytes, kv.most_held_bytes) == (40, 100)
    assert repr(kv) == "CacheRecorder('kv', hits=3, misses=1)"
    kv.reset()
    assert (kv.lookups, kv.rate, kv.most_held_bytes) == (0, None, 0)


@pytest.mark.parametrize("name", ["", None, 3])
def test_it_needs_a_name(name: Any) -> None:
    with pytest.raises(RequestError, match="under a name"):
        CacheRecorder(name)


def test_it_cannot_hold_less_than_nothing() -> None:
    with pytest.raises(RequestError, match="cannot hold -1 bytes"):
        CacheRecorder("kv").miss(nbytes=-1)


def test_threads_do_not_lose_any() -> None:
    kv = CacheRecorder("kv")
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=lambda: [kv.hit() for _ in range(2000)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert kv.hits == 8000


def test_it_needs_no_torch() -> None:
    code = (
        "import sys; from diffprof.runtime.instrumentation.cache_recorder import CacheRecorder;"
        "CacheRecorder('kv').hit(); assert not {'torch', 'numpy', 'diffusers'} & set(sys.modules)"
    )
    run_child("-c", code)


def pipeline_with(kv: CacheRecorder) -> tuple[Any, Any]:
    """A pipeline and a callback that asks the cache once in each step: the first is a miss."""

    def ask(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        if step:
            kv.hit(module=pipe.unet.mid_block)
        else:
            kv.miss(module="keys", nbytes=64)
        return tensors

    return SMALL_PIPELINES["stable-diffusion"].build(), ask


def test_in_a_watched_pipeline_its_events_are_those_of_the_run() -> None:
    kv = CacheRecorder("kv")
    pipeline, ask = pipeline_with(kv)
    with monitored_calls(pipeline) as calls:
        pipeline("a cat", num_inference_steps=STEPS, callback_on_step_end=ask)
        kv.hit()
    (call,) = calls
    events = call.iteration.caches
    assert [(event.cache, event.hit, event.component, event.module) for event in events] == [
        ("kv", False, None, "keys"),
        ("kv", True, "unet", "mid_block"),
        ("kv", True, "unet", "mid_block"),
    ]
    moments = [event.at_ns for event in events]
    assert moments == sorted(moments)
    assert 0 < moments[0] < moments[-1] < call.iteration.wall.host_ns
    assert (kv.hits, kv.misses) == (3, 1), "what is outside of the run counts too"
    assert peak_cache_bytes(pipeline) == {"kv": 64}


def test_an_event_belongs_to_the_current_step() -> None:
    kv = CacheRecorder("kv")
    pipeline: Any = SMALL_PIPELINES["stable-diffusion"].build()
    pipeline.unet.register_forward_hook(lambda *_: kv.hit())
    with monitored_calls(pipeline) as calls:
        pipeline("a cat", num_inference_steps=STEPS)
    assert [event.step for event in calls[0].iteration.caches] == [0, 1, 2]


def test_a_module_of_no_pipeline_is_named_by_its_class() -> None:
    kv = CacheRecorder("kv")
    pipeline: Any = SMALL_PIPELINES["stable-diffusion"].build()
    other: Any = SMALL_PIPELINES["stable-diffusion"].build()
    pipeline.unet.register_forward_hook(lambda *_: kv.hit(module=other.vae))
    with monitored_calls(pipeline) as calls:
        pipeline("a cat", num_inference_steps=1)
    (event,) = calls[0].iteration.caches
    assert (event.component, event.module) == (None, "AutoencoderKL")


def test_two_pipelines_keep_their_caches_apart() -> None:
    recorders = [CacheRecorder("first"), CacheRecorder("second")]
    pairs = [pipeline_with(recorder) for recorder in recorders]
    with monitored_calls(pairs[0][0]) as first, monitored_calls(pairs[1][0]) as second:
        for pipeline, ask in pairs:
            pipeline("a cat", num_inference_steps=STEPS, callback_on_step_end=ask)
    assert [{event.cache for event in calls[0].iteration.caches} for calls in (first, second)] == [
        {"first"},
        {"second"},
    ]
    assert [peak_cache_bytes(pipeline) for pipeline, _ in pairs] == [{"first": 64}, {"second": 64}]


def test_a_dry_run_calls_the_same_code_and_counts_nothing() -> None:
    kv = CacheRecorder("kv")
    pipeline, ask = pipeline_with(kv)
    diffprof.profile(pipeline, prompt="a cat", num_inference_steps=STEPS, callback_on_step_end=ask)
    assert kv.lookups == 0
    assert kv.most_held_bytes == 0
