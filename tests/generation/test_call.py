"""The call that a request leads to: its arguments, and what is put back after it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diffprof.errors import PipelineError, RequestError
from diffprof.generation.call import PlannedCall, check_cache, check_scheduler, configure_pipeline, plan_call, run_call
from diffprof.record.request import Request
from tests.small_pipelines import SMALL_PIPELINES


class Loop:
    """As much of a pipeline as is called: it reports its steps by a progress bar."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {}

    def progress_bar(self, iterable: Any = None, total: int | None = None) -> Any:
        raise AssertionError("the pipeline's own bar is not used")

    def __call__(self, steps: int, generator: torch.Generator) -> list[float]:
        with self.progress_bar(total=steps) as bar:
            for _ in range(steps):
                bar.update()
        for _ in self.progress_bar(range(2)):
            pass
        return [torch.rand(1, generator=generator).item(), torch.rand(1).item()]


def request(**arguments: Any) -> Request:
    return Request("", arguments, seed=1)


def test_every_step_of_a_bar_is_reported_and_the_bar_comes_back() -> None:
    pipeline, steps = Loop(), []
    with configure_pipeline(pipeline, PlannedCall({}, 1), lambda *step: steps.append(step)):
        pipeline(3, torch.Generator())
    assert steps == [(1, 3), (2, 3), (3, 3), (1, 2), (2, 2)]
    assert "progress_bar" not in vars(pipeline)


def test_a_seed_decides_on_all_random_numbers_and_leaves_those_of_the_program() -> None:
    pipeline = Loop()
    before = torch.random.get_rng_state()
    with configure_pipeline(pipeline, PlannedCall({}, 1)):
        one, again, other = (run_call(pipeline, PlannedCall({"steps": 1}, seed)) for seed in (5, 5, 6))
    assert one == again != other
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_pipeline_that_takes_no_generator_gets_none() -> None:
    assert PlannedCall({"steps": 1}, 5, takes_generator=False).with_generator == {"steps": 1}


def test_what_a_pipeline_raises_names_it() -> None:
    with pytest.raises(PipelineError, match="Loop failed"):
        run_call(Loop(), PlannedCall({"steps": "many"}, 1))


def test_an_unknown_scheduler_or_cache_is_refused() -> None:
    check_scheduler(None)
    check_cache(None)
    compatible = SimpleNamespace(scheduler=SimpleNamespace(compatibles=[dict, list]))
    with pytest.raises(RequestError, match="SimpleNamespace works with dict, list"):
        check_scheduler("zzz", compatible)
    with pytest.raises(RequestError):
        check_cache("no such cache")


def test_a_requested_argument_that_the_pipeline_lacks_is_named() -> None:
    pipeline = SMALL_PIPELINES["ddpm"].build()
    with pytest.raises(RequestError, match="DDPMPipeline has no call argument 'prompt'; it has batch_size"):
        plan_call(pipeline, request(prompt="a cat"), {})
    with pytest.raises(RequestError, match="DDPMPipeline has no call argument 'width'"):
        plan_call(pipeline, request(width=64, height=64), {})
    with pytest.raises(RequestError, match="DDPMPipeline has no call argument 'negative_prompt'"):
        plan_call(pipeline, request(negative_prompt="ugly"), {})
    assert plan_call(pipeline, request(negative_prompt=""), {}).arguments == {}


def test_a_usual_value_that_a_pipeline_lacks_is_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_DEFAULT_WIDTH", "64")
    monkeypatch.setenv("DIFFPROF_DEFAULT_HEIGHT", "64")
    monkeypatch.setenv("DIFFPROF_DEFAULT_GUIDANCE_SCALE", "3")
    call = plan_call(SMALL_PIPELINES["ddpm"].build(), request(), {})
    assert call.arguments == {}
    assert call.notes == (
        "the default guidance scale was left out: DDPMPipeline has no guidance scale; leave it out",
        "DDPMPipeline has no width: the default of 64 was left out",
        "DDPMPipeline has no height: the default of 64 was left out",
    )


def test_an_argument_that_the_pipeline_also_needs_is_named() -> None:
    with pytest.raises(RequestError, match="DiTPipeline needs the call argument 'class_labels'"):
        plan_call(SMALL_PIPELINES["dit"].build(), request(), {})


def test_a_request_overrides_the_recommended_values_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    recommended = {"num_inference_steps": 4, "guidance_scale": 0.0, "width": 64, "height": 64}
    call = plan_call(pipeline, request(prompt="a cat", num_inference_steps=9), recommended)
    assert call.arguments == {
        "prompt": "a cat", "num_inference_steps": 9, "guidance_scale": 0.0, "width": 64, "height": 64,
    }  # fmt: skip
    monkeypatch.setenv("DIFFPROF_DEFAULT_STEPS", "7")
    assert plan_call(pipeline, request(prompt="a cat"), recommended).arguments["num_inference_steps"] == 7


def test_steps_go_under_the_name_that_the_pipeline_has() -> None:
    pipeline = SMALL_PIPELINES["unclip"].build()
    call = plan_call(pipeline, request(prompt="a cat", prior_num_inference_steps=2), {})
    assert call.arguments["prior_num_inference_steps"] == 2
