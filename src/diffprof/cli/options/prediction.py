"""Options that ``fit``, ``predict`` and ``advise`` share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from diffprof.cli.options import completion
from diffprof.cli.options import declarations as options
from diffprof.cli.options.groups import CountOptions
from diffprof.errors import RequestError
from diffprof.record.request import parse_rate
from diffprof.record.run_settings import RunSettings

Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A name of `diffprof models`, a hub id, a folder or a saved profile.",
        autocompletion=completion.model_names,
    ),
]
ACCELERATOR = typer.Option(
    metavar="NAME", help="An accelerator of `diffprof hardware`.", autocompletion=completion.accelerator_names
)
Ram = Annotated[str | None, typer.Option(metavar="SIZE", help="Host memory: 64GB.")]
Hardware = Annotated[
    Path | None, typer.Option("--hardware", metavar="FILE.toml", help="Also use the accelerators of this file.")
]
Price = Annotated[
    list[str] | None,
    typer.Option(metavar="[NAME=]USD", help="Price per hour, of one accelerator or of all. Repeatable."),
]


@dataclass(frozen=True)
class PredictionOptions(CountOptions):
    """Options of the call to predict, and changes to make to the model before it."""

    lora: options.Lora = None
    controlnet: options.Controlnet = None
    ip_adapter: options.IpAdapter = None
    guidance_interval: options.GuidanceInterval = None


@dataclass(frozen=True)
class RunningOptions:
    """Options for how the pipeline runs, which do not change its count."""

    offload: Annotated[
        str, typer.Option(metavar="WAY", help="Offload weights to the CPU: model, sequential, group or group-leaf.")
    ] = "none"
    no_stream: Annotated[
        bool, typer.Option("--no-stream", help="Group offload without a stream: no prefetching, no pinned memory.")
    ] = False
    blocks_per_group: Annotated[str, typer.Option(metavar="N", help="Blocks that group offload moves together.")] = "1"
    quantize: options.Quantize = None
    layerwise: options.Layerwise = None
    drop_text_encoders: Annotated[
        bool, typer.Option("--drop-text-encoders", help="Delete the text encoders once the prompt is encoded.")
    ] = False
    attention: Annotated[str, typer.Option(metavar="NAME", help="sdpa, or math for unfused attention.")] = "sdpa"
    compile: Annotated[bool, typer.Option("--compile", help="Compile the models with torch.compile.")] = False
    devices: Annotated[
        str, typer.Option(metavar="N", help="Devices that share the denoiser's sequence (context parallelism).")
    ] = "1"
    skip_rate: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Share of the denoiser's calls that a cache skips: 0.4.")
    ] = None

    without: Annotated[
        list[str] | None,
        typer.Option(metavar="COMPONENT", help="Do not load it: safety_checker, text_encoder_3... Repeatable."),
    ] = None

    def run_settings(self) -> RunSettings:
        """Check the options and convert them."""
        settings = RunSettings.create(
            offload=self.offload,
            use_stream=not self.no_stream,
            blocks_per_group=_whole_number("--blocks-per-group", self.blocks_per_group),
            quantize=self.quantize,
            layerwise=self.layerwise,
            drop_text_encoders=self.drop_text_encoders,
            attention=self.attention,
            compiled=self.compile,
            devices=_whole_number("--devices", self.devices),
            skip_rate=0.0 if self.skip_rate is None else parse_rate("--skip-rate", self.skip_rate),
            without=self.without,
        )
        settings.check()
        return settings


def _whole_number(option: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 5 and 1 <= int(text) <= 10_000):
        raise RequestError(f"{option} must be a whole number from 1 to 10,000, not {text!r}.")
    return int(text)


def parse_prices(texts: list[str] | None) -> Mapping[str, float]:
    """Prices in dollars per hour, by accelerator; the price under ``""`` is for all others."""
    prices: dict[str, float] = {}
    for text in texts or ():
        name, equals, price = text.rpartition("=")
        prices[name.strip() if equals else ""] = parse_rate("--price", price, most=1e6)
    return prices
