"""The state of a pipeline: equal while nothing was changed, different after any change that may cost something."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from diffusers import EulerDiscreteScheduler

from diffprof.runtime.state_hash import state_hash
from tests.small_pipelines import SMALL_PIPELINES


@pytest.fixture(scope="module")
def pipeline() -> Any:
    return SMALL_PIPELINES["stable-diffusion"].build()


def test_a_copy_of_the_scheduler_is_the_same_state(pipeline: Any) -> None:
    before, scheduler = state_hash(pipeline), pipeline.scheduler
    pipeline.scheduler = copy.deepcopy(scheduler)
    assert state_hash(pipeline) == before
    pipeline.scheduler = EulerDiscreteScheduler.from_config(scheduler.config)
    assert state_hash(pipeline) != before
    pipeline.scheduler = scheduler
    assert state_hash(pipeline) == before


def test_a_switch_changes_the_state(pipeline: Any) -> None:
    before = state_hash(pipeline)
    pipeline.vae.enable_tiling()
    assert state_hash(pipeline) != before
    pipeline.vae.disable_tiling()
    assert state_hash(pipeline) == before


def test_another_dtype_changes_the_state(pipeline: Any) -> None:
    before = state_hash(pipeline)
    pipeline.vae.half()
    assert state_hash(pipeline) != before
    pipeline.vae.float()
    assert state_hash(pipeline) == before
