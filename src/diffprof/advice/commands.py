"""Write the command line that reproduces a prediction, from a request and its settings."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diffprof.catalogue.names import resolve
from diffprof.catalogue.recommended_settings import recommended_settings
from diffprof.errors import DiffprofError
from diffprof.record.changes import EVERY, Changes
from diffprof.record.inputs import ImageSize, VideoSize, plain_input
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings
from diffprof.settings.limits import LIMITS

INPUTS = ("image", "mask_image", "control_image", "video")
"""Call arguments whose size has its own option."""


def command_line(command: str, request: Request, settings: RunSettings, device: Sequence[str] = ()) -> str:
    """``diffprof fit`` or ``diffprof predict`` with the options of a request, of settings and of a device."""
    return shlex.join(
        ["diffprof", command, str(request.model), *_request_words(request), *_setting_words(settings), *device]
    )


def _request_words(request: Request) -> Iterator[str]:
    for name, value in request.arguments.items():
        limit = LIMITS.get(name)
        if limit is not None and isinstance(value, int | float):
            yield from (limit.option, _number(value))
        elif name in INPUTS and isinstance(value, ImageSize | VideoSize):
            yield from (f"--{name.removesuffix('_image')}", _size(value))
        elif is_plain(value):
            yield from ("--set", f"{name}={json.dumps(plain_input(value))}")
    for option, text in (("--dtype", request.dtype), ("--scheduler", request.scheduler), ("--config", request.config)):
        if text:
            yield from (option, text)
    for switch in request.enable:
        yield from ("--enable", switch)
    yield from _change_words(request.changes)
    if request.assume_defaults:
        yield "--assume-defaults"
    if request.pipeline_defaults and _recommends_more(request):
        yield "--pipeline-defaults"


def is_plain(value: Any) -> bool:
    """Whether a value can be written as text; objects such as generators or tensors cannot."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(name, str) and is_plain(one) for name, one in value.items())
    return value is None or isinstance(value, str | int | float | bool | ImageSize | VideoSize)


def _size(value: ImageSize | VideoSize) -> str:
    frames = f"{value.frames}x" if isinstance(value, VideoSize) else ""
    return f"{frames}{value.width}x{value.height}"


def _number(value: float) -> str:
    return repr(value) if isinstance(value, int) or not value.is_integer() else str(int(value))


def _recommends_more(request: Request) -> bool:
    """Whether recommended settings would add arguments that the request does not have."""
    try:
        recommended: Mapping[str, Any] = recommended_settings(resolve(request.model))
    except DiffprofError:
        return True  # a live pipeline, which has no name
    return any(name not in request.arguments for name in recommended)


def _change_words(changes: Changes) -> Iterator[str]:
    for name in ("lora", "controlnet"):
        for value in getattr(changes, name):
            yield from (f"--{name}", value)
    if changes.ip_adapter:
        yield from ("--ip-adapter", changes.ip_adapter)
    if changes.guidance_interval:
        yield from ("--guidance-interval", ":".join(f"{share:g}" for share in changes.guidance_interval))


def _setting_words(settings: RunSettings) -> Iterator[str]:
    for option, values in (("--quantize", settings.quantize), ("--layerwise", settings.layerwise)):
        for slot, kind in values.items():
            yield from (option, kind if slot == EVERY else f"{slot}={kind}")
    if settings.offload != "none":
        yield from ("--offload", settings.offload)
    if not settings.use_stream:
        yield "--no-stream"
    if settings.blocks_per_group != 1:
        yield from ("--blocks-per-group", str(settings.blocks_per_group))
    if settings.drop_text_encoders:
        yield "--drop-text-encoders"
    if settings.attention != "sdpa":
        yield from ("--attention", settings.attention)
    if settings.compiled:
        yield "--compile"
    if settings.devices != 1:
        yield from ("--devices", str(settings.devices))
    for slot in settings.without:
        yield from ("--without", slot)
    if settings.skip_rate:
        yield from ("--skip-rate", f"{settings.skip_rate:g}")
