"""A call that was counted is replayed for equal calls, and counted again as soon as anything that matters differs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from diffusers import UNet2DConditionModel

import diffprof
from diffprof.counting.dry_run import dry_run
from diffprof.errors import PipelineError
from diffprof.pipelines.components import components_of
from tests.counting.real_run import real_run
from tests.counting.sample_components import reading_unet
from tests.small_pipelines import SMALL_PIPELINES
from tests.small_pipelines.text_encoders import qwen3_for_causal_lm


def profile_and_counts(pipeline: Any, **arguments: Any) -> tuple[diffprof.Profile, dict[str, int]]:
    """A profile, and how often each component was really counted for it."""
    times: dict[str, int] = {}

    def note(message: str, done: int | None, total: int | None) -> None:
        if message.startswith("counting "):
            slot = message.removeprefix("counting ")
            times[slot] = times.get(slot, 0) + 1

    return diffprof.profile(pipeline, progress=note, **arguments), times


@pytest.fixture
def pipeline() -> Any:
    return SMALL_PIPELINES["stable-diffusion"].build()


def test_fifty_steps_are_counted_once(pipeline: Any) -> None:
    done, times = profile_and_counts(pipeline, prompt="a cat", num_inference_steps=50)
    assert times["unet"] == 1
    assert done.components["unet"].calls == 50
    assert done.components["unet"].macs == 50 * done.steps.macs
    assert len({id(call.cost) for call in done.calls if call.component == "unet"}) == 1


def test_fifty_steps_cost_fifty_times_one(pipeline: Any) -> None:
    one, fifty = (diffprof.profile(pipeline, prompt="a cat", num_inference_steps=steps) for steps in (1, 50))
    assert fifty.components["unet"].work == one.components["unet"].work * 50
    assert fifty.components["vae"].work == one.components["vae"].work


@pytest.mark.parametrize(("threshold", "kinds"), [(500, 2), (-1, 1), (2000, 1)])
def test_a_component_that_reads_an_input_is_counted_again_for_another_value(threshold: int, kinds: int) -> None:
    """Early timesteps cost one linear layer more; which are early depends on the value of an input."""
    small = SMALL_PIPELINES["stable-diffusion"]
    components = small.components()
    components["unet"] = reading_unet(components["unet"], threshold)
    pipeline = type(small.build())(**components)
    done, times = profile_and_counts(pipeline, prompt="a cat", num_inference_steps=10)
    assert times["unet"] == 10, "each value is looked at"
    costs = [call.macs for call in done.calls if call.component == "unet"]
    assert len(set(costs)) == kinds
    plain = diffprof.profile(small.build(), prompt="a cat", num_inference_steps=10).steps.macs
    early = sum(timestep > threshold for timestep in pipeline_timesteps(10))
    assert sum(costs) == 10 * plain + early * 2 * 77 * 32 * 32


def pipeline_timesteps(count: int) -> list[int]:
    scheduler = SMALL_PIPELINES["stable-diffusion"].build().scheduler
    scheduler.set_timesteps(count)
    return [int(timestep) for timestep in scheduler.timesteps]


def test_guidance_that_is_switched_off_midway_shows(pipeline: Any) -> None:
    def no_more_guidance(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        if step == 2:
            tensors["prompt_embeds"] = tensors["prompt_embeds"].chunk(2)[-1]
            pipe._guidance_scale = 0.0
        return tensors

    callback = {"callback_on_step_end": no_more_guidance, "callback_on_step_end_tensor_inputs": ["prompt_embeds"]}
    done, times = profile_and_counts(pipeline, prompt="a cat", num_inference_steps=8, **callback)
    (stage,) = done.steps.stages
    guided, plain = stage.step_macs[0], stage.step_macs[-1]
    assert stage.step_macs == (guided,) * 3 + (plain,) * 5
    assert guided == 2 * plain
    assert times["unet"] == 2


def test_a_processor_that_is_swapped_midway_shows(pipeline: Any) -> None:
    from diffusers.models.attention_processor import AttnProcessor

    def swap(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        if step == 1:
            pipe.unet.set_attn_processor(AttnProcessor())
        return tensors

    done, times = profile_and_counts(pipeline, prompt="a cat", num_inference_steps=4, callback_on_step_end=swap)
    names = [{op.name for op in call.cost.operations} for call in done.calls if call.component == "unet"]
    assert ["scaled_dot_product_attention" in seen for seen in names] == [True, True, False, False]
    assert times["unet"] == 2
    assert len({call.macs for call in done.calls if call.component == "unet"}) == 1


def test_code_of_the_users_own_is_counted_each_time(pipeline: Any) -> None:
    class Forgetful(UNet2DConditionModel):  # type: ignore[misc]
        """Does nothing in every second call."""

        calls = 0

        def forward(self, sample: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            Forgetful.calls += 1
            return super().forward(sample, *args, **kwargs) if Forgetful.calls % 2 else (sample.clone(),)

    pipeline.unet.__class__ = Forgetful
    done, times = profile_and_counts(pipeline, prompt="a cat", num_inference_steps=6)
    assert times["unet"] == 6
    (stage,) = done.steps.stages
    assert [macs > 0 for macs in stage.step_macs] == [True, False] * 3


def test_attention_that_is_broadcast_is_cheaper_in_the_steps_between() -> None:
    small = SMALL_PIPELINES["cogvideox-attention-broadcast"]
    done = diffprof.profile(small.build(), **small.arguments())
    (stage,) = done.steps.stages
    assert len(set(stage.step_macs)) == 2
    assert stage.step_macs[0] == max(stage.step_macs)


def test_a_second_profile_in_the_same_process_is_the_same(pipeline: Any) -> None:
    arguments = {"prompt": "a cat", "num_inference_steps": 3}
    assert diffprof.profile(pipeline, **arguments) == diffprof.profile(pipeline, **arguments)


def test_the_first_profile_of_a_process_is_like_any_other(pipeline: Any) -> None:
    """What is remembered from one to the next must not show."""
    from diffprof.counting.operations import functions, virtual

    arguments = {"prompt": "a cat", "num_inference_steps": 2}
    diffprof.profile(pipeline, **arguments)
    later = diffprof.profile(pipeline, **arguments)
    for memory in (virtual._INFERRED, virtual._REAL_OPS, functions._ATTENTION):
        memory.clear()
    assert diffprof.profile(pipeline, **arguments) == later


def test_what_torch_refuses_of_a_pipeline_is_the_pipelines_own_failure() -> None:
    """A UNet whose configuration has no size leaves a pipeline without one for its noise."""
    small = SMALL_PIPELINES["ddim"]
    pipeline = small.build()
    pipeline.unet.register_to_config(sample_size=None)
    with pytest.raises(PipelineError, match="DDIMPipeline failed with these arguments, in its own code: TypeError"):
        diffprof.profile(pipeline, **small.arguments())


class TrunkPipeline:
    """Calls the model inside of its text encoder, and leaves out the head that predicts words."""

    def __init__(self) -> None:
        self.text_encoder = qwen3_for_causal_lm()
        self.config = {"text_encoder": None}

    def register_modules(self, **modules: Any) -> None:
        """What makes a pipeline one."""

    @torch.no_grad()
    def __call__(self) -> None:
        self.text_encoder.model(input_ids=torch.zeros(1, 5, dtype=torch.long))


def test_a_text_encoder_that_is_called_without_its_head_is_called_all_the_same() -> None:
    pipeline = TrunkPipeline()
    result = dry_run(pipeline, {})
    assert [(call.component, call.method) for call in result.calls] == [("text_encoder", "forward")]
    assert result.calls[0].macs > 0
    assert result.outside.work.macs == 0
    assert real_run(pipeline, components_of(pipeline), {"forward"}, {}).calls == [
        ("text_encoder", "forward", result.calls[0].macs)
    ]
