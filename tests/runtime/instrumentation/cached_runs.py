"""Every cache of diffusers on a small pipeline, what it has to decide there, and a real run that is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from diffprof.counting.dry_run import DryRunResult
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.record.measured import CacheEvent
from diffprof.runtime.instrumentation.pipeline_monitor import MonitoredCall, PipelineMonitor
from tests.counting.real_mode import RealMode
from tests.runtime.instrumentation.pipelines_with_own_caches import COSMOS_3, NUCLEUS
from tests.small_pipelines import SMALL_PIPELINES, SmallPipeline

Pipeline = Any
EVERYTHING_FITS = 1e9
"""A threshold that no difference reaches."""


@dataclass(frozen=True)
class Case:
    """A cache on a pipeline."""

    small: SmallPipeline
    config: Callable[[Pipeline], Any]
    steps: int
    decisions: dict[str, str]
    """Cache -> its decisions in order, worked out by hand: H is a hit, a dot is a miss."""

    def build(self) -> Pipeline:
        pipeline: Any = self.small.build()
        pipeline.transformer.enable_cache(self.config(pipeline))
        return pipeline

    def arguments(self) -> dict[str, Any]:
        """Without the VAE, which has no cache and takes half of the time."""
        return {**self.small.arguments(), "num_inference_steps": self.steps, "output_type": "latent"}


def _first_block(threshold: float) -> Callable[[Pipeline], Any]:
    def config(pipeline: Pipeline) -> Any:
        from diffusers import FirstBlockCacheConfig

        return FirstBlockCacheConfig(threshold=threshold)

    return config


def _broadcast(pipeline: Pipeline) -> Any:
    from diffusers import PyramidAttentionBroadcastConfig

    return PyramidAttentionBroadcastConfig(
        spatial_attention_block_skip_range=2,
        spatial_attention_timestep_skip_range=(100, 800),
        current_timestep_callback=lambda: pipeline.current_timestep,
    )


def _faster(**changes: Any) -> Callable[[Pipeline], Any]:
    def config(pipeline: Pipeline) -> Any:
        from diffusers import FasterCacheConfig

        return FasterCacheConfig(
            spatial_attention_block_skip_range=2,
            spatial_attention_timestep_skip_range=(-1, 901),
            unconditional_batch_skip_range=3,
            unconditional_batch_timestep_skip_range=(-1, 901),
            tensor_format="BFCHW",
            attention_weight_callback=lambda module: 0.3,
            current_timestep_callback=lambda: pipeline.current_timestep,
            **changes,
        )

    return config


def _taylor(lite: bool) -> Callable[[Pipeline], Any]:
    def config(pipeline: Pipeline) -> Any:
        from diffusers import TaylorSeerCacheConfig

        return TaylorSeerCacheConfig(cache_interval=2, disable_cache_before_step=2, use_lite_mode=lite)

    return config


def _magnitudes(pipeline: Pipeline) -> Any:
    from diffusers import MagCacheConfig

    return MagCacheConfig(mag_ratios=[1.0] * 6, num_inference_steps=6, max_skip_steps=3, retention_ratio=0.2)


def _calibration(pipeline: Pipeline) -> Any:
    from diffusers import MagCacheConfig

    return MagCacheConfig(calibrate=True, num_inference_steps=6)


def _sea(threshold: float) -> Callable[[Pipeline], Any]:
    def config(pipeline: Pipeline) -> Any:
        from diffusers import SeaCacheConfig

        return SeaCacheConfig(threshold=threshold, max_consecutive_cached=2)

    return config


def _texts(pipeline: Pipeline) -> Any:
    from diffusers import TextKVCacheConfig

    return TextKVCacheConfig()


FLUX, WAN, COGVIDEOX = (SMALL_PIPELINES[name] for name in ("flux", "wan-2.1", "cogvideox"))
UNCONDITIONAL = "FasterCache (unconditional branch)"

CASES = {
    # The first block has nothing to compare with in the first step.
    "first block, all fits": Case(FLUX, _first_block(EVERYTHING_FITS), 6, {"FirstBlockCache": ".HHHHH"}),
    "first block, nothing fits": Case(FLUX, _first_block(0.0), 6, {"FirstBlockCache": "......"}),
    # Guidance calls the transformer twice in each step, and each has a cache of its own.
    "first block, guidance": Case(WAN, _first_block(EVERYTHING_FITS), 4, {"FirstBlockCache": "..HHHHHH"}),
    # In every second step, but not before timestep 800, nor after timestep 100.
    "attention broadcast": Case(COGVIDEOX, _broadcast, 6, {"PyramidAttentionBroadcast": ".H.H.."}),
    # Attention is computed in every second step, and wherever both halves of the batch are.
    "faster cache": Case(COGVIDEOX, _faster(), 8, {UNCONDITIONAL: ".HH.HH.H", "FasterCache": ".H...H.H"}),
    # Two attentions; two steps to begin with, then every second step.
    "taylor seer": Case(FLUX, _taylor(lite=False), 6, {"TaylorSeer": "....HH..HH.."}),
    # Two blocks and the projection after them.
    "taylor seer, lite": Case(FLUX, _taylor(lite=True), 6, {"TaylorSeer": "......HHH...HHH..."}),
    # A fifth of the steps to begin with, and at most three skipped in a row.
    "magnitudes": Case(FLUX, _magnitudes, 6, {"MagCache": ".HHH.H"}),
    "magnitudes, calibrated": Case(FLUX, _calibration, 6, {"MagCache": "......"}),
    # The first step, the last, and after two that were skipped; each twice, for guidance.
    "sea": Case(WAN, _sea(EVERYTHING_FITS), 8, {"SeaCache": "..HHHH..HHHH...."}),
    "sea, whole stack": Case(COSMOS_3, _sea(EVERYTHING_FITS), 8, {"SeaCache": "..HHHH..HHHH...."}),
    # Two texts in two blocks.
    "texts": Case(NUCLEUS, _texts, 4, {"TextKVCache": "....HHHHHHHHHHHH"}),
}

ONE_OF_EACH_KIND = (
    *("first block, all fits", "attention broadcast", "faster cache"),
    *("taylor seer", "magnitudes", "sea", "texts"),
)

BY_VALUES = {
    # What is decided depends on the random weights: some of each, and no telling where.
    "first block": Case(FLUX, _first_block(0.5), 8, {}),
    "sea": Case(WAN, _sea(0.4), 8, {}),
    "sea, whole stack": Case(COSMOS_3, _sea(0.4), 8, {}),
}


@contextmanager
def monitored_calls(pipeline: Pipeline) -> Iterator[list[MonitoredCall]]:
    calls: list[MonitoredCall] = []
    watch = PipelineMonitor(pipeline, calls.append)
    watch.start()
    try:
        yield calls
    finally:
        watch.stop()


def counted_run(pipeline: Pipeline, arguments: dict[str, Any]) -> tuple[tuple[CacheEvent, ...], int]:
    """A real run that is watched: what its caches decided, and the MACs of all operations that ran."""
    recorder = OperationRecorder()
    with monitored_calls(pipeline) as calls, RealMode(recorder):
        pipeline(**arguments)
    (call,) = calls
    return call.iteration.caches, recorder.outside.cost(0).work.macs


def macs_of(result: DryRunResult) -> int:
    return sum(call.macs for call in result.calls) + result.outside.work.macs


def written(events: tuple[CacheEvent, ...]) -> dict[str, str]:
    decisions: dict[str, str] = {}
    for event in events:
        decisions[event.cache] = decisions.get(event.cache, "") + ("H" if event.hit else ".")
    return decisions


ALL = {**CASES, **{f"{name}, by values": case for name, case in BY_VALUES.items()}}


@cache
def run_of(name: str) -> tuple[Any, tuple[CacheEvent, ...], int]:
    """A pipeline that has run, what its caches decided, and the MACs of what ran. Dry runs leave it as it is."""
    case = ALL[name]
    pipeline = case.build()
    return pipeline, *counted_run(pipeline, case.arguments())
