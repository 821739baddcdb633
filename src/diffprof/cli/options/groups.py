"""Option groups: dataclasses of options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from diffprof.cli.options import declarations as options
from diffprof.errors import RequestError
from diffprof.record.preparation import PREPARATIONS
from diffprof.record.request import CHANGES, Request
from diffprof.settings.limits import CALL_NUMBERS, LIMITS

INPUTS = ("image", "mask_image", "control_image", "video")
"""Call arguments that an option gives by their size alone; the options are named without ``_image``."""

Command = TypeVar("Command", bound=Callable[..., Any])


def expand_groups(command: Command) -> Command:
    """Let a command take option groups: typer sees each field as an option, the command gets the groups."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            parameters += _parameters(hints[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    def run(**values: Any) -> Any:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        return command(**values)

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run  # type: ignore[return-value]


def _parameters(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


@dataclass(frozen=True)
class RequestOptions:
    """Base class of groups that describe a request; each command uses a group with the options it supports."""

    def request(self, model: str, **others: Any) -> Request:
        """Build the request and check it."""
        values = vars(self)
        numbers = {name: values.get(LIMITS[name].option.removeprefix("--")) for name in CALL_NUMBERS}
        numbers |= _parse_size(values.get("size"), numbers)
        texts = {name: values.get(name) for name in ("prompt", "negative_prompt")}
        sizes = {name: values.get(name.removesuffix("_image")) for name in INPUTS}
        names = (
            *("dtype", "scheduler", "enable", "seed", "device", "offload", "random_weights", "config"),
            *("assume_defaults", "pipeline_defaults", "count", *CHANGES, *PREPARATIONS),
        )
        rest = {name: values[name] for name in names if name in values}
        return Request.parse(model, numbers, values.get("settings") or (), texts=texts, sizes=sizes, **rest, **others)


def _parse_size(size: str | None, numbers: Mapping[str, str | None]) -> dict[str, str]:
    """The width and height that --size gives; refused if `numbers` already has one of them."""
    if size is None:
        return {}
    if numbers["width"] is not None or numbers["height"] is not None:
        raise RequestError("--size sets both width and height; leave out --width and --height.")
    width, times, height = size.lower().replace("*", "x").replace("×", "x").partition("x")
    if not width.strip().isdecimal() or (times and not height.strip().isdecimal()):
        raise RequestError(f"--size takes WIDTHxHEIGHT, such as 1024x768, or one number for a square, not {size!r}.")
    return {"width": width, "height": height if times else width}


@dataclass(frozen=True)
class CallOptions(RequestOptions):
    """Arguments of the pipeline's call."""

    prompt: options.Prompt = None
    negative_prompt: options.NegativePrompt = None
    size: options.Size = None
    height: options.Height = None
    width: options.Width = None
    steps: options.Steps = None
    guidance: options.Guidance = None
    batch: options.Batch = None
    frames: options.Frames = None
    settings: options.Settings = None
    dtype: options.Dtype = None
    pipeline_defaults: options.PipelineDefaults = False


@dataclass(frozen=True)
class InputOptions(CallOptions):
    """Arguments of the call, sizes of its image inputs, and features of the pipeline."""

    image: options.Image = None
    mask: options.Mask = None
    control: options.Control = None
    video: options.Video = None
    scheduler: options.Scheduler = None
    enable: options.Enable = None
    config: options.Config = None
    assume_defaults: options.AssumeDefaults = False


@dataclass(frozen=True)
class CountOptions(InputOptions):
    """Options of a call that is counted."""

    limit_memory: options.LimitMemory = None
    limit_time: options.LimitTime = None
    count: options.Count = False


@dataclass(frozen=True)
class ChangeOptions(InputOptions):
    """Options of a call, and changes to make to the model before it."""

    quantize: options.Quantize = None
    layerwise: options.Layerwise = None
    lora: options.Lora = None
    attention: options.Attention = None
    cache: options.Cache = None


@dataclass(frozen=True)
class ProfileOptions(ChangeOptions):
    """Options of a call that is only counted, with the changes that need no weights."""

    controlnet: options.Controlnet = None
    ip_adapter: options.IpAdapter = None
    guidance_interval: options.GuidanceInterval = None
    limit_memory: options.LimitMemory = None
    limit_time: options.LimitTime = None
    count: options.Count = False


@dataclass(frozen=True)
class RunOptions(ChangeOptions):
    """Options of a call that is executed."""

    seed: options.Seed = None
    random_weights: options.RandomWeights = False
    device: options.Device = None
    offload: options.Offload = None
    compile: options.Compile = None
    device_map: options.DeviceMap = None
    parallel: options.Parallel = None
    revision: options.Revision = None
    variant: options.Variant = None
    single_file: options.SingleFile = None

    def request(self, model: str, **others: Any) -> Request:
        """Build the request. With --single-file, that file is the model, and MODEL is its configuration."""
        if self.single_file is None:
            return super().request(model, **others)
        if self.config is not None:
            raise RequestError(f"--single-file takes its configuration from {model}; leave out --config.")
        return replace(self, single_file=None, config=model).request(self.single_file, **others)


@dataclass(frozen=True)
class ComponentOptions(RequestOptions):
    """Options of one call of a component."""

    size: options.Size = None
    height: options.Height = None
    width: options.Width = None
    guidance: options.Guidance = None
    batch: options.Batch = None
    frames: options.Frames = None
    settings: options.Settings = None
    pipeline_defaults: options.PipelineDefaults = False


@dataclass(frozen=True)
class OutputOptions:
    """Options for the format of a profile, and where it is written."""

    depth: Annotated[
        str | None, typer.Option(metavar="N", help="Show the module tree to this depth; implies --by module.")
    ] = None
    json: options.AsJson = False
    csv: options.AsCsv = False
    markdown: options.AsMarkdown = False
    file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a .json, .json.gz, .csv, .md or .txt file."),
    ] = None
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every assumption.")] = False
    quiet: options.Quiet = False
