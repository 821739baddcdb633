"""Options that several commands share, each declared once."""

from __future__ import annotations

from typing import Annotated

import typer

from diffprof.cli.options import completion
from diffprof.errors import RequestError
from diffprof.settings.work_limits import set_option

VALUES = "VALUE: a number, true/false, none or a [list]; anything else is text."

Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A name of `diffprof models`, a hub id, a folder or a weight file.",
        autocompletion=completion.model_names,
    ),
]
Prompt = Annotated[str | None, typer.Option(metavar="TEXT", help="What to generate.")]
Height = Annotated[str | None, typer.Option(metavar="PIXELS", help="Height of the image.")]
Width = Annotated[str | None, typer.Option(metavar="PIXELS", help="Width of the image.")]
Size = Annotated[
    str | None, typer.Option(metavar="WxH", help="Width and height of the image: 1024x768, or 1024 for a square.")
]
Steps = Annotated[str | None, typer.Option(metavar="N", help="Denoising steps.")]
Guidance = Annotated[str | None, typer.Option(metavar="SCALE", help="Guidance scale.")]
Batch = Annotated[str | None, typer.Option(metavar="N", help="Images per prompt (num_images_per_prompt).")]
Frames = Annotated[str | None, typer.Option(metavar="N", help="Frames of a video.")]
Image = Annotated[
    list[str] | None,
    typer.Option("--image", metavar="WxH", help="Pass an image of this size to the call: 1024x768. Repeatable."),
]
Mask = Annotated[list[str] | None, typer.Option("--mask", metavar="WxH", help="Pass a mask of this size to the call.")]
Control = Annotated[
    list[str] | None,
    typer.Option("--control", metavar="WxH", help="Pass a control image of this size to the call. Repeatable."),
]
Video = Annotated[
    list[str] | None,
    typer.Option("--video", metavar="FxWxH", help="Pass a video of this size to the call: 81x832x480."),
]
AssumeDefaults = Annotated[
    bool,
    typer.Option(
        "--assume-defaults", help="Build a model with a missing configuration from the defaults of its class."
    ),
]
NegativePrompt = Annotated[str | None, typer.Option(metavar="TEXT", help="What to avoid in the result.")]
Dtype = Annotated[str | None, typer.Option(metavar="NAME", help="float32, float16 or bfloat16.")]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Use another scheduler, by class name or short name: ddim, euler..."),
]
Config = Annotated[
    str | None,
    typer.Option(metavar="MODEL", help="The model or folder to take the configuration of a weight file from."),
]
SingleFile = Annotated[
    str | None,
    typer.Option(
        "--single-file",
        metavar="FILE",
        help="Load the weights from this file, as in `run FILE --config MODEL`.",
    ),
]
Component = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Count one call of this component alone; MODEL may be its folder."),
]
Method = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Call this method of the component, such as decode, instead of forward."),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input", metavar="NAME=SHAPE", help="An input of the component: 1x4096x64, 1x77:int64, 3.5. Repeatable."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help=f"Any call argument of the pipeline. {VALUES} Repeatable."),
]
Enable = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Enable a feature of the pipeline: vae_tiling, freeu... Repeatable."),
]
PipelineDefaults = Annotated[
    bool,
    typer.Option(
        "--pipeline-defaults", help="Use the pipeline's defaults instead of the settings recommended for the model."
    ),
]
Count = Annotated[bool, typer.Option("--count", help="Count with a dry run even if the model has a proved law.")]
Seed = Annotated[str | None, typer.Option(metavar="N", help="Random seed, used for every iteration.")]
RandomWeights = Annotated[
    bool, typer.Option("--random-weights", help="Use random weights in the real architecture; nothing is downloaded.")
]
Device = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="cpu, cuda, cuda:1, mps... By default the accelerator, if there is one."),
]
Offload = Annotated[
    str | None, typer.Option(metavar="WAY", help="Offload weights to the CPU: model, sequential or group.")
]
Compile = Annotated[
    str | None,
    typer.Option(
        metavar="[regional]", help="Compile every denoiser, or with regional only its repeated blocks.",
    ),
]  # fmt: skip
DeviceMap = Annotated[
    str | None,
    typer.Option(metavar="balanced|COMPONENT=DEVICE,...", help="Distribute the components over several devices."),
]
Parallel = Annotated[
    str | None,
    typer.Option(
        metavar="WAY=N[,WAY=N]", help="Split the denoiser across the ranks of torchrun: ulysses=2, ring=2 or tensor=2."
    ),
]
Revision = Annotated[str | None, typer.Option(metavar="NAME", help="A branch, tag or commit of the hub.")]
Variant = Annotated[str | None, typer.Option(metavar="NAME", help="Weight files of this variant, such as fp16.")]
Cache = Annotated[
    str | None,
    typer.Option(metavar="NAME[:KEY=VALUE,...]", help="A cache of diffusers: first_block:0.1, taylorseer, faster..."),
]
Quantize = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[COMPONENT=]KIND",
        help="Quantize weights: nf4, int8, fp8, int4, gguf:Q4_K, quanto:int8... By default those of denoisers and "
        "text encoders. Repeatable.",
    ),
]
Layerwise = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[COMPONENT=]DTYPE", help="Store layers in fp8 and cast each when it runs. By default in denoisers."
    ),
]
Lora = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE|RANK", help="Add a LoRA: a .safetensors file, or a rank. Repeatable."),
]
Controlnet = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Add a ControlNet: usual, a folder, or a model that has one. Repeatable."),
]
IpAdapter = Annotated[str | None, typer.Option(metavar="[base|plus]", help="Add an IP-Adapter.")]
Attention = Annotated[
    str | None, typer.Option(metavar="BACKEND", help="Attention backend: native, flash, sage, xformers...")
]
GuidanceInterval = Annotated[
    str | None, typer.Option(metavar="START:END", help="Use guidance only in this part of the steps, such as 0.2:0.8.")
]
LimitMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory limit for opening and counting a model: 16GB. By default 1.6 GB.",
        callback=lambda text: set_option("memory", text),
    ),
]
LimitTime = Annotated[
    str | None,
    typer.Option(
        metavar="SECONDS",
        help="CPU time limit for opening and counting a model. By default 120.",
        callback=lambda text: set_option("time", text),
    ),
]
Gpu = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[,NAME]",
        help="Also predict memory and time on these accelerators of `diffprof hardware`.",
        autocompletion=completion.accelerator_names,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the profile as JSON.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")]
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print it as Markdown, for a pull request.")]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No progress bar and no messages."),
]


def accelerator_names(text: str | None) -> tuple[str, ...]:
    """Split the value of --gpu at its commas."""
    names = tuple(name.strip() for name in text.split(",")) if text is not None else ()
    if any(not name for name in names):
        raise RequestError(f"--gpu takes names separated by commas, not {text!r}.")
    return names
