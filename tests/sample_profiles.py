"""Profiles written by hand, small enough to check by eye and complete enough for every table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from diffprof.record.measured import (
    HOST_TO_DEVICE,
    CacheEvent,
    Device,
    DevicePoint,
    DeviceReading,
    Iteration,
    Measured,
    Move,
    RankPart,
    SystemPoint,
)
from diffprof.record.profile import (
    NO_WORK,
    Attention,
    Call,
    Component,
    Cost,
    Ledger,
    Module,
    ModuleWork,
    Operation,
    Profile,
    Stage,
    Steps,
    Work,
)
from diffprof.record.recorded_request import Environment, RecordedRequest
from diffprof.record.tensors import OperationShapes, Shape, TensorInput, TensorShape
from tests.sample_iterations import CPU, GB, GPU, MILLISECOND, in_sequence, interrupted, iteration_on

ENVIRONMENT = Environment(diffprof="0.1.0", python="3.11.7", torch="2.8.0", diffusers="0.42.1", transformers="5.22.0")

# Stable Diffusion 2.1 base at 512x512, 30 steps, guidance 7.5: the MACs of one call are the published ones.
UNET_MACS = 804_257_464_320
TEXT_ENCODER_MACS = 22_563_616_768
VAE_MACS = 1_257_259_466_752
UNET_CALLS = 31


def unequal_steps() -> Profile:
    """The same, with a last step that costs half: what a cache or the end of guidance does."""
    whole = stable_diffusion()
    (stage,) = whole.steps.stages
    half = replace(stage, step_macs=(*stage.step_macs[:-1], UNET_MACS // 2))
    return replace(whole, steps=replace(whole.steps, stages=(half,)))


def stable_diffusion(*, steps: int = 30, unet_calls: int = UNET_CALLS, scheduler: str = "PNDMScheduler") -> Profile:
    """Three components, 34 calls of which 31 are steps, self and cross attention, two assumptions."""
    unet, text, vae = _unet_cost(), _text_cost(), _vae_cost()
    calls = (
        *[Call("text_encoder", "forward", tensors(input_ids=(1, 77)), None, text)] * 2,
        *[
            Call("unet", "forward", tensors(sample=(2, 4, 64, 64), encoder_hidden_states=(2, 77, 1024)), n, unet)
            for n in range(unet_calls)
        ],
        Call("vae", "decode", tensors(z=(1, 4, 64, 64)), None, vae),
    )
    return Profile(
        request=RecordedRequest(
            model="sd-2.1-base",
            source="catalogue",
            pipeline="StableDiffusionPipeline",
            arguments={"height": 512, "width": 512, "num_inference_steps": steps, "guidance_scale": 7.5},
            defaults={"prompt": "a photo", "num_images_per_prompt": 1, "eta": 0.0, "negative_prompt": None},
            dtype="float16",
        ),
        environment=ENVIRONMENT,
        components={
            "vae": _component("vae", "AutoencoderKL", "vae", 83_653_863, calls, vae_modules()),
            "text_encoder": _component("text_encoder", "CLIPTextModel", "text_encoder", 340_387_840, calls),
            "unet": _component("unet", "UNet2DConditionModel", "denoiser", 865_910_724, calls, unet_modules()),
        },
        steps=Steps((Stage(scheduler, ("unet",), (UNET_MACS,) * unet_calls),)),
        calls=calls,
        ledger=Ledger(
            executed_ops=12_345,
            known_ops=12_345,
            moved_bytes=9_876_543_210,
            known_bytes=9_876_543_210,
            assumptions=(
                "The tokenizer is a stand-in with the published lengths and special tokens.",
                "The prompt is a stand-in of 7 words.",
            ),
        ),
    )


def measured_profile(
    *,
    device: Device = CPU,
    iterations: Iterable[Iteration] | None = None,
    steps: int = 4,
    system: Iterable[SystemPoint] = (),
    **measured: Any,
) -> Profile:
    """Stable Diffusion in 4 steps as it ran on `device`: one warm-up and three iterations that differ by 1%.

    Nothing is wrong with it. `iterations` are others, from `tests.sample_iterations`, which are put one after
    the other; `steps` is how many calls of the UNet were counted. `measured` holds further fields of `Measured`.
    """
    if iterations is None:
        warmup = iteration_on(device, steps=steps, times=1.3, warmup=True)
        iterations = (warmup, *[iteration_on(device, steps=steps, times=times) for times in (1, 1.01, 0.99)])
    counted = stable_diffusion(steps=steps, unet_calls=steps, scheduler="DDIMScheduler")
    runs = {"repeated": True, **measured}
    return replace(counted, measured=Measured(device, in_sequence(tuple(iterations)), tuple(system), **runs))


def everything_measured() -> Profile:
    """A run on a GPU with offloading, a cache and a sampler, that was interrupted: every field holds something."""
    moves = (Move("unet", HOST_TO_DEVICE, 1_731_821_448, 0, 900_000, step=0, hidden=False),)
    caches = (
        CacheEvent("FirstBlockCache", False, 2_000_000, 0, "unet", "down_blocks"),
        CacheEvent("prompts", True, 50),
    )
    whole = iteration_on(GPU, moves=moves, caches=caches, warmup=True)
    return measured_profile(
        device=GPU,
        iterations=(
            whole,
            interrupted(iteration_on(GPU, entry="unet_forward", traced=True, cpu_ns=12_000_000), at_ms=15),
        ),
        system=(
            SystemPoint(0, 99.5, 2_000_000_000),
            SystemPoint(100_000_000, 812.25, 2_000_000_000, 1.5e9, 0.0, 97.0, 9_000_000_000),
        ),
        load_seconds=1.25,
        repeated=False,
        turns="1f2e3d",
        nominal_macs={"unet": 4 * UNET_MACS},
        cached_bytes={"FirstBlockCache": 41_943_040},
        notes=("One call could not be counted.",),
        readings=(DeviceReading("cuda:1", 5, 50.0, 10**9, 200.0, 1410.0, 60.0, "heat"), DeviceReading("cuda:1", 6)),
        preparation={"compile": "regional", "parallel": "ulysses=2"},
        ranks=(
            RankPart(0, "NVIDIA A100 (cuda:0)", "", 1, 1_000_000, 10**9, 70, 30, 10**9),
            RankPart(1, "NVIDIA A100 (cuda:1)", "", 1, 2_000_000, None, None, None, None),
        ),
    )


def on_two_gpus() -> Profile:
    """The VAE runs on a second GPU; both are sampled twice in a generation of about 60 ms."""
    one = iteration_on(GPU)
    samples = tuple(replace(one, device="cuda:1") if one.component == "vae" else one for one in one.samples)
    points = (DevicePoint("cuda:1", "start", 0, GB, 2 * GB, GB), DevicePoint("cuda:1", "end", 5, GB, 5 * GB, 3 * GB))
    profile = measured_profile(
        device=GPU,
        iterations=[replace(one, samples=samples, device_memory=points)],
        system=[
            SystemPoint(at * MILLISECOND, 100, GB, gpu_percent=percent, gpu_memory_bytes=GB, gpu_watts=watts,
                        gpu_mhz=mhz, gpu_celsius=70, gpu_throttle=throttle)
            for at, percent, watts, mhz, throttle in ((1, 90, 300, 1400, "power cap"), (9, 70, 200, 1900, ""))
        ],
    )  # fmt: skip
    assert profile.measured is not None
    measured = replace(
        profile.measured,
        other_devices={"cuda:1": Device("NVIDIA L4", "cuda")},
        readings=(DeviceReading("cuda:1", 1, 10, GB), DeviceReading("cuda:1", 9, 30, GB)),
    )
    return replace(profile, measured=measured)


def nothing() -> Profile:
    """A pipeline that called nothing: every share and every per-call figure is a division by zero waiting to happen."""
    return Profile(
        request=RecordedRequest("empty", "object", "DiffusionPipeline", {}),
        environment=ENVIRONMENT,
        components={"unet": Component("unet", "UNet2DModel", "denoiser", "float32", 0, 0, 0)},
        steps=Steps(),
        calls=(),
        ledger=Ledger(0, 0, 0, 0),
    )


def hostile() -> Profile:
    """Names that try to be markup, colours or new lines; a cascade; an operation without a formula; uneven calls."""
    small = Cost(
        Work(1_000, 10, 4, 4),
        64,
        operations=(Operation("aten::fft", "fft", shapes((2, 2)), "float32", 1, Work(1_000, 10, 4, 4), False),),
    )
    large = Cost(Work(3_000_000, 10, 4, 4), 128)
    calls = (
        Call("[red]evil[/red]", "forward", (TensorInput("x\n2", (TensorShape((1,)),)),), 0, small),
        Call("[red]evil[/red]", "forward", tensors(x=(2,)), 1, large),
        Call("decoder", "forward", tensors(x=(2,)), 0, large),
    )
    return Profile(
        request=RecordedRequest(
            "[bold]\x1b[31m:smile:\nmodel",
            "folder",
            "StableCascadeCombinedPipeline",
            {"prompt": "[/] \udcff"},
            scheduler="DDPMScheduler",
            enable=("vae_tiling",),
        ),
        environment=ENVIRONMENT,
        components={
            "[red]evil[/red]": _component("[red]evil[/red]", "C[lass]", "denoiser", 1_500, calls),
            "decoder": _component("decoder", "StableCascadeUNet", "denoiser", 20, calls, buffers=3),
        },
        steps=Steps(
            (
                Stage("DDPMWuerstchenScheduler", ("[red]evil[/red]",), (1_000, 3_000_000)),
                Stage("DDPMWuerstchenScheduler", ("decoder",), (3_000_000,)),
            )
        ),
        calls=calls,
        ledger=Ledger(3_000, 2_999, 24, 16, {"aten::fft": 1}, ("one [b]",)),
    )


def _component(
    slot: str,
    class_name: str,
    role: str,
    parameters: int,
    calls: tuple[Call, ...],
    modules: tuple[Module, ...] = (),
    buffers: int = 0,
) -> Component:
    own = [call for call in calls if call.component == slot]
    return Component(
        slot=slot,
        class_name=class_name,
        role=role,
        dtype="float16",
        parameters=parameters,
        buffers=buffers,
        weight_bytes=2 * (parameters + buffers),
        calls=len(own),
        work=sum((call.work for call in own), NO_WORK),
        peak_live_bytes=max((call.cost.peak_live_bytes for call in own), default=0),
        modules=modules or (Module("", class_name, parameters),),
    )


def tensors(**inputs: Shape) -> tuple[TensorInput, ...]:
    """Inputs of a call, one tensor each."""
    return tuple(TensorInput(name, (TensorShape(shape, "float16"),)) for name, shape in inputs.items())


def shapes(*inputs: Shape) -> OperationShapes:
    """The shapes of an operation that gives back what has the shape of its first input."""
    return OperationShapes(inputs, inputs[:1])


def unet_modules() -> tuple[Module, ...]:
    blocks = [Module(f"down_blocks.{n}", "CrossAttnDownBlock2D", 0) for n in range(3)]
    inner = [Module(f"down_blocks.{n}.attentions", "Transformer2DModel", 100_000_000) for n in range(3)]
    pairs = [module for pair in zip(blocks, inner, strict=True) for module in pair]
    return (
        Module("", "UNet2DConditionModel", 0),
        Module("conv_in", "Conv2d", 11_840),
        Module("down_blocks", "ModuleList", 0),
        *pairs,
        Module("mid_block", "UNetMidBlock2DCrossAttn", 565_898_884),
    )


def vae_modules() -> tuple[Module, ...]:
    return (
        Module("", "AutoencoderKL", 0),
        Module("decoder", "Decoder", 49_490_199),
        Module("encoder", "Encoder", 34_163_664),
    )


def _unet_cost() -> Cost:
    self_attention = Attention(
        "down_blocks.*.attentions", "self", 2, 4_096, 4_096, 5, 5, 64, 64, False, False, 3,
        3 * 2 * 5 * 4_096 * 4_096 * 64, 3 * 2 * 5 * 4_096 * 4_096 * 5, 3 * 2 * 5 * 4_096 * 4_096 * 64,
    )  # fmt: skip
    cross_attention = Attention(
        "down_blocks.*.attentions", "cross", 2, 4_096, 77, 5, 5, 64, 64, False, True, 3,
        3 * 2 * 5 * 4_096 * 77 * 64, 3 * 2 * 5 * 4_096 * 77 * 5, 3 * 2 * 5 * 4_096 * 77 * 64,
    )  # fmt: skip
    attention = Work(
        self_attention.macs + cross_attention.macs,
        self_attention.softmax_flops + cross_attention.softmax_flops,
        90_000_000,
        30_000_000,
    )
    linear = Work(300_000_000_000, 0, 2_000_000_000, 400_000_000)
    convolution = Work(UNET_MACS - attention.macs - linear.macs, 0, 3_000_000_000, 500_000_000)
    norm = Work(0, 1_200_000_000, 700_000_000, 700_000_000)
    whole = attention + linear + convolution + norm
    block = Work(200_000_000_000, 600_000_000, 1_000_000_000, 300_000_000)
    conv_in = Work(94_371_840, 0, 100_000, 2_621_440)
    mid = Work(
        whole.macs - 3 * block.macs - conv_in.macs,
        whole.other_flops - 3 * block.other_flops,
        whole.read_bytes - 3 * block.read_bytes - conv_in.read_bytes,
        whole.written_bytes - 3 * block.written_bytes - conv_in.written_bytes,
    )
    conv_shapes = shapes((2, 4, 64, 64), (320, 4, 3, 3), (320,))
    return Cost(
        work=whole,
        peak_live_bytes=314_572_800,
        operations=(
            Operation("aten::convolution", "convolution", conv_shapes, "float16", 66, convolution),
            Operation("aten::addmm", "linear", shapes((8192, 320), (320, 320), (320,)), "float16", 150, linear),
            Operation("attention", "attention", shapes((2, 5, 4096, 64)), "float16", 6, attention),
            Operation("aten::native_group_norm", "norm", shapes((2, 320, 64, 64)), "float16", 61, norm),
        ),
        modules=(
            ModuleWork("", "UNet2DConditionModel", 1, NO_WORK),
            ModuleWork("conv_in", "Conv2d", 1, conv_in),
            *[ModuleWork(f"down_blocks.{n}.attentions", "Transformer2DModel", 1, block) for n in range(3)],
            ModuleWork("mid_block", "UNetMidBlock2DCrossAttn", 1, mid),
        ),
        attention=(self_attention, cross_attention),
    )


def _text_cost() -> Cost:
    work = Work(TEXT_ENCODER_MACS, 50_000_000, 680_000_000, 40_000_000)
    attention = Attention(
        "text_model.encoder.layers.*.self_attn", "self", 1, 77, 77, 16, 16, 64, 64, True, False, 23,
        23 * 16 * 77 * 77 * 64, 23 * 16 * 77 * 77 * 5, 23 * 16 * 77 * 77 * 64,
    )  # fmt: skip
    rest = Work(
        work.macs - attention.macs, work.other_flops - attention.softmax_flops, work.read_bytes, work.written_bytes
    )
    attended = Work(attention.macs, attention.softmax_flops)
    return Cost(
        work=work,
        peak_live_bytes=2_000_000,
        operations=(
            Operation("aten::addmm", "linear", shapes((77, 1024), (1024, 1024), (1024,)), "float16", 138, rest),
            Operation("attention", "attention", shapes((1, 16, 77, 64)), "float16", 23, attended),
        ),
        attention=(attention,),
    )


def _vae_cost() -> Cost:
    work = Work(VAE_MACS, 9_000_000_000, 5_000_000_000, 4_000_000_000)
    conv_shapes = shapes((1, 512, 64, 64), (512, 512, 3, 3))
    return Cost(
        work=work,
        peak_live_bytes=1_073_741_824,
        operations=(Operation("aten::convolution", "convolution", conv_shapes, "float16", 35, work),),
        modules=(ModuleWork("decoder", "Decoder", 1, work),),
    )
