"""After it was profiled, a live pipeline is exactly as it was: nothing computed, nothing changed, nothing lost."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import diffprof
from diffprof.counting.pipeline_state import PipelineState
from diffprof.errors import DiffprofError, PipelineError
from tests.counting.state import differences, state_of
from tests.extensive import split_cases
from tests.small_pipelines import SMALL_PIPELINES

DIFFERENT_IN_KIND = (
    "stable-diffusion",
    "stable-diffusion-xl",
    "stable-diffusion-xl-lora",
    "stable-diffusion-ip-adapter",
    "stable-diffusion-controlnet",
    "stable-diffusion-pndm",
    "stable-diffusion-heun",
    "stable-diffusion-perturbed-attention",
    "stable-diffusion-tiled-vae",
    "stable-diffusion-sliced-attention",
    "stable-diffusion-fused-projections",
    "stable-diffusion-freeu",
    "cogvideox-attention-broadcast",
    "kandinsky-2.2-combined",
    "wan-2.1",
    "flux",
    "ltx2",
    "qwen-image",
    "sana",  # sets the side on which its tokenizer pads
    "z-image",  # keeps the position table that it made
)


@pytest.mark.parametrize(
    "name", split_cases(DIFFERENT_IN_KIND, always=("stable-diffusion-heun", "sana", "z-image", "ltx2"))
)
def test_a_pipeline_is_unchanged_and_its_next_image_is_the_same(name: str) -> None:
    small = SMALL_PIPELINES[name]
    arguments, untouched = small.arguments(), picture(small.build(), small.arguments())
    pipeline = small.build()
    before = state_of(pipeline, *generators(arguments))
    diffprof.profile(pipeline, **arguments)
    assert differences(before, state_of(pipeline, *generators(arguments))) == []
    assert numpy.array_equal(picture(pipeline, small.arguments()), untouched, equal_nan=True)


def generators(arguments: dict[str, Any]) -> list[torch.Generator]:
    return [value for value in arguments.values() if isinstance(value, torch.Generator)]


def picture(pipeline: Any, arguments: dict[str, Any]) -> numpy.ndarray[Any, Any]:
    output = pipeline(**arguments)
    first = output[0] if isinstance(output, tuple) else next(iter(output.values()))
    return numpy.asarray(first)


def stable_diffusion(**changes: Any) -> tuple[Any, dict[str, Any]]:
    small = SMALL_PIPELINES["stable-diffusion"]
    return small.build(), small.arguments() | changes


def test_a_pipeline_that_has_run_before_keeps_what_that_left_behind() -> None:
    pipeline, arguments = stable_diffusion()
    pipeline(**arguments)
    before = state_of(pipeline)
    diffprof.profile(pipeline, prompt="a cat", num_inference_steps=3)
    assert differences(before, state_of(pipeline)) == []


def test_weights_without_data_that_were_cast_have_their_own_dtype_again() -> None:
    """AuraFlow and Stable Video Diffusion cast their VAE before they decode, and not back."""
    layer = torch.nn.BatchNorm2d(4, dtype=torch.float16, device="meta")
    state = PipelineState(layer, [layer], {})
    layer.to(torch.float32)
    state.restore()
    assert {layer.weight.dtype, layer.bias.dtype, layer.running_mean.dtype} == {torch.float16}  # type: ignore[union-attr]
    assert layer.num_batches_tracked.dtype == torch.int64  # type: ignore[union-attr]


class Stop(Exception):
    """What a user's callback raises."""


def stop(pipeline: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    random.random(), numpy.random.rand(), torch.rand(1)
    raise Stop("that is enough")


def test_after_an_exception_in_the_middle_all_is_as_before() -> None:
    pipeline, arguments = stable_diffusion(callback_on_step_end=stop)
    before = state_of(pipeline, *generators(arguments))
    with pytest.raises(PipelineError, match=r"StableDiffusionPipeline .*Stop: that is enough"):
        diffprof.profile(pipeline, **arguments)
    assert differences(before, state_of(pipeline, *generators(arguments))) == []


def test_after_ctrl_c_in_the_middle_all_is_as_before() -> None:
    def interrupt(*_: Any) -> dict[str, Any]:
        raise KeyboardInterrupt

    pipeline, arguments = stable_diffusion(callback_on_step_end=interrupt)
    before = state_of(pipeline, *generators(arguments))
    with pytest.raises(KeyboardInterrupt):
        diffprof.profile(pipeline, **arguments)
    assert differences(before, state_of(pipeline, *generators(arguments))) == []


def test_classes_and_functions_of_the_libraries_are_put_back() -> None:
    from diffusers import DiffusionPipeline
    from diffusers.models import attention_dispatch

    registry = attention_dispatch._AttentionBackendRegistry
    pipeline, arguments = stable_diffusion(callback_on_step_end=stop)

    def seen() -> list[Any]:
        owners = (torch.nn.Module, DiffusionPipeline, type(pipeline), type(pipeline.unet), type(pipeline.vae))
        owners += (type(pipeline.scheduler), registry, torch.amp.autocast_mode.autocast, torch.nn.functional)
        return [{name: id(value) for name, value in vars(owner).items()} for owner in owners]

    before = seen()
    with pytest.raises(PipelineError):
        diffprof.profile(pipeline, **arguments)
    assert seen() == before


def test_switches_and_the_scheduler_are_restored() -> None:
    pipeline, arguments = stable_diffusion()
    before = state_of(pipeline, *generators(arguments))
    switches = ("freeu", "vae_tiling", "vae_slicing", "attention_slicing")
    diffprof.profile(pipeline, scheduler="heun", enable=switches, **arguments)
    assert differences(before, state_of(pipeline, *generators(arguments))) == []


def test_the_other_switches_are_restored_when_one_fails() -> None:
    pipeline, arguments = stable_diffusion()
    before = state_of(pipeline)
    with pytest.raises(DiffprofError, match="nothing to enable called 'nonsense'"):
        diffprof.profile(pipeline, scheduler="heun", enable=("freeu", "nonsense"), **arguments)
    assert differences(before, state_of(pipeline)) == []


def offload_in_groups(pipeline: Any) -> None:
    options = {
        "offload_type": "leaf_level",
        "onload_device": torch.device("cpu"),
        "offload_device": torch.device("cpu"),
    }
    pipeline.unet.enable_group_offload(**options)


def align_devices(pipeline: Any) -> None:
    """What `enable_sequential_cpu_offload` does, with the CPU in the place of the accelerator."""
    from accelerate import cpu_offload

    cpu_offload(pipeline.unet, execution_device=torch.device("cpu"), offload_buffers=True)


def cache_first_block(pipeline: Any) -> None:
    from diffusers import FirstBlockCacheConfig

    pipeline.transformer.enable_cache(FirstBlockCacheConfig(threshold=0.2))


def compile_denoiser(pipeline: Any) -> None:
    pipeline.unet = torch.compile(pipeline.unet, backend="eager")


def add_hooks(pipeline: Any) -> None:
    pipeline.unet.register_forward_pre_hook(lambda module, args: None)
    pipeline.unet.mid_block.register_forward_hook(lambda module, args, output: None)


def train(pipeline: Any) -> None:
    pipeline.unet.train()
    pipeline.vae.requires_grad_(False)


def half(pipeline: Any) -> None:
    pipeline.to(torch.bfloat16)


CHANGES: dict[str, tuple[str, Callable[[Any], None]]] = {
    "offloaded in groups": ("stable-diffusion", offload_in_groups),
    "offloaded by accelerate": ("stable-diffusion", align_devices),
    "compiled": ("stable-diffusion", compile_denoiser),
    "with hooks of the user's": ("stable-diffusion", add_hooks),
    "in training mode": ("stable-diffusion", train),
    "in half precision": ("stable-diffusion", half),
}


@pytest.mark.parametrize(("name", "change"), CHANGES.values(), ids=CHANGES.keys())
def test_a_pipeline_stays_as_it_was_set_up(name: str, change: Callable[[Any], None]) -> None:
    small = SMALL_PIPELINES[name]
    plain, pipeline = small.build(), small.build()
    change(pipeline)
    arguments = small.arguments()
    before = state_of(pipeline, *generators(arguments))
    done = diffprof.profile(pipeline, **arguments)
    assert differences(before, state_of(pipeline, *generators(arguments))) == []
    assert done.total.macs == diffprof.profile(plain, **small.arguments()).total.macs


@pytest.mark.parametrize("has_run", [False, True])
def test_a_cache_keeps_its_state_and_its_guess_is_written_down(has_run: bool) -> None:
    """Whether a cached block is computed depends on values: as if nothing had changed between steps."""
    small = SMALL_PIPELINES["flux"]
    plain = diffprof.profile(small.build(), **small.arguments())
    pipeline = small.build()
    cache_first_block(pipeline)
    if has_run:
        pipeline(**small.arguments())
    before = state_of(pipeline)
    cached = diffprof.profile(pipeline, **small.arguments())
    assert differences(before, state_of(pipeline)) == []
    first, second = (call.macs for call in cached.calls if call.component == "transformer")
    assert first == plain.steps.macs
    assert second < first
    assert any("depend on weights" in sentence for sentence in cached.ledger.assumptions)


def test_user_hooks_see_every_call_once_and_keep_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    pipeline, arguments = stable_diffusion(num_inference_steps=3)
    shapes = []

    def look(module: Any, args: Any, output: Any) -> None:
        shapes.append(output[0].shape)
        sys.stdout.write(f"{tuple(output[0].shape)}\n")

    pipeline.unet.register_forward_hook(look)
    diffprof.profile(pipeline, **arguments)
    assert capsys.readouterr().out.splitlines() == ["(2, 4, 16, 16)"] * 3
    assert shapes == []


class Collecting:
    """A user's own attention processor, which keeps what it sees."""

    def __init__(self, processor: Any) -> None:
        self.processor = processor
        self.seen: list[Any] = []

    def __call__(self, attention: Any, hidden_states: torch.Tensor, **options: Any) -> Any:
        self.seen.append(hidden_states)
        self.last = hidden_states
        return self.processor(attention, hidden_states, **options)


def test_a_users_own_processor_keeps_nothing_of_the_dry_run() -> None:
    pipeline, arguments = stable_diffusion()
    plain = diffprof.profile(pipeline, **arguments)
    pipeline.unet.set_attn_processor(
        {name: Collecting(processor) for name, processor in pipeline.unet.attn_processors.items()}
    )
    done = diffprof.profile(pipeline, **arguments)
    assert done.total.macs == plain.total.macs
    for processor in pipeline.unet.attn_processors.values():
        assert processor.seen == []
        assert not hasattr(processor, "last")


def test_the_values_of_weights_do_not_matter() -> None:
    """Were anything computed with them, NaN would show in a mask or a count."""
    pipeline, arguments = stable_diffusion()
    healthy = diffprof.profile(pipeline, **arguments)
    with torch.no_grad():
        for component in (pipeline.unet, pipeline.vae, pipeline.text_encoder):
            for parameter in component.parameters():
                parameter.fill_(float("nan"))
    poisoned = diffprof.profile(pipeline, **arguments)
    assert poisoned.calls == healthy.calls
    assert poisoned.ledger == healthy.ledger


def test_weights_that_cannot_be_read_are_not_read() -> None:
    """Weights on the meta device have no values at all."""
    pipeline, arguments = stable_diffusion()
    healthy = diffprof.profile(pipeline, **arguments)
    for component in (pipeline.unet, pipeline.vae, pipeline.text_encoder):
        component.to("meta")
    assert diffprof.profile(pipeline, **arguments).total.macs == healthy.total.macs


def test_no_memory_is_taken_for_activations() -> None:
    """What a real run would hold at one time is many times the largest tensor that is really made: latents."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Largest(TorchDispatchMode):
        """Sees only what really runs: below the mode of the dry run."""

        made = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            for tensor in result if isinstance(result, (list, tuple)) else (result,):
                if isinstance(tensor, torch.Tensor) and not tensor.is_meta:
                    Largest.made = max(Largest.made, tensor.untyped_storage().nbytes())
            return result

    pipeline, arguments = stable_diffusion(height=512, width=512, output_type="latent")
    with Largest():
        done = diffprof.profile(pipeline, **arguments)
    latents = 4 * 256 * 256 * 4
    assert Largest.made == 2 * latents
    assert max(call.cost.peak_live_bytes for call in done.calls) > 20 * Largest.made


class Counting(torch.nn.Module):
    """Keeps what it sees in a buffer, in a container inside of a container, and in the statistics of a norm."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.norm = torch.nn.BatchNorm2d(3)
        self.register_buffer("seen", torch.zeros(1))
        self.kept: dict[str, list[int]] = {"calls": []}

    def forward(self, x: torch.Tensor) -> Any:
        self.seen.add_(1)
        self.kept["calls"].append(1)
        return self.inner(self.norm(x))


def test_buffers_that_a_module_writes_into_and_containers_in_containers_are_put_back() -> None:
    small = SMALL_PIPELINES["ddpm"]
    pipeline = small.build()
    counting = Counting(pipeline.unet.conv_in)
    pipeline.unet.conv_in = counting
    counting.norm.train()
    before = {name: tensor.clone() for name, tensor in pipeline.unet.state_dict().items()}
    diffprof.profile(pipeline, **small.arguments())
    after = pipeline.unet.state_dict()
    assert [name for name, tensor in before.items() if not torch.equal(tensor, after[name])] == []
    assert counting.kept == {"calls": []}


def test_a_state_that_is_renewed_keeps_what_others_have_changed_since() -> None:
    layer = torch.nn.Linear(2, 2)
    state = PipelineState(layer, [layer], {})
    torch.nn.Linear.mark = "of somebody else"  # type: ignore[attr-defined]
    try:
        torch.manual_seed(7)
        assert state.renew({})
        drawn = torch.rand(1)
        layer.in_features = 9
        state.restore()
        assert (layer.in_features, torch.nn.Linear.mark) == (2, "of somebody else")  # type: ignore[attr-defined]
        assert torch.rand(1) == drawn, "the random state is that of the renewal"
    finally:
        del torch.nn.Linear.mark  # type: ignore[attr-defined]


def test_a_state_is_not_renewed_where_code_of_a_program_is_called() -> None:
    layer = torch.nn.Linear(2, 2)
    assert not PipelineState(layer, [layer], {}).renew({"callback": lambda: None})
