"""Problems of small pipelines that really ran, where finding them does not depend on how long anything took."""

from __future__ import annotations

from typing import Any

import pytest

import diffprof
from tests.findings.problems import findings_of_kind, the_finding
from tests.small_pipelines import SMALL_PIPELINES


@pytest.mark.parametrize(("threshold", "never"), [(0.0, True), (1e6, False)])
def test_a_cache_whose_threshold_is_too_strict_never_hits(threshold: float, never: bool) -> None:
    from diffusers import FirstBlockCacheConfig

    small = SMALL_PIPELINES["flux"]
    pipeline = small.build()
    pipeline.transformer.enable_cache(FirstBlockCacheConfig(threshold=threshold))
    run = diffprof.measure(
        pipeline, warmup=0, iterations=1, sample_hz=0, **{**small.arguments(), "num_inference_steps": 6}
    )
    names = [finding.evidence["cache"] for finding in findings_of_kind(run.profile, "cache_never_hits")]
    assert names == (["FirstBlockCache"] if never else [])


def test_an_interrupted_call_is_reported_as_incomplete() -> None:
    def interrupt(pipeline: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        raise KeyboardInterrupt

    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline = small.build()
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        with pytest.raises(KeyboardInterrupt):
            pipeline(**small.arguments(), callback_on_step_end=interrupt)
        finding = the_finding(run.profile, "incomplete_run")
    assert (finding.case, finding.evidence["steps"]) == ("none_ended", 1)
