"""Whether a model can make a picture of a size here: found out by a dry run, not after minutes; and what would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from diffprof.counting.profile import profile
from diffprof.errors import DiffprofError, PipelineError, RequestError
from diffprof.pipelines.free_memory import free_bytes
from diffprof.record.profile import Profile
from diffprof.render import numbers

MULTIPLES = (2, 4, 8, 16, 32, 64, 128)
SMALLEST = 64
ARGUMENTS = ("prompt", "width", "height", "num_frames", "num_inference_steps", "image", "video")
"""Of a call: those that its size depends on."""


@dataclass(frozen=True)
class Trial:
    """A model and the call that is to be made, without weights or with them."""

    target: Any
    """A live pipeline, or the place of a model that is not loaded yet."""
    name: str
    arguments: Mapping[str, Any]
    device: torch.device
    dtype: str | None = None
    """Of a model that is not loaded yet, where it is not the model's own."""
    weights_to_come: bool = False
    """The weights are yet to be put on the device."""

    @property
    def size(self) -> tuple[Any, Any]:
        """Width and height; neither or both are there."""
        return self.arguments.get("width"), self.arguments.get("height")

    def with_size(self, width: int, height: int) -> Trial:
        return replace(self, arguments={**self.arguments, "width": width, "height": height})

    def counted(self) -> Profile:
        """What the call would cost. Steps are alike: few are enough to see how large they are."""
        few = {"num_inference_steps": FEW_STEPS} if "num_inference_steps" in self.arguments else {}
        options: dict[str, Any] = {"dtype": self.dtype} if isinstance(self.target, str | Path) else {}
        return profile(self.target, **options, **{**self.arguments, **few})

    def needed_bytes(self, counted: Profile) -> int:
        working = max((part.peak_live_bytes for part in counted.components.values()), default=0)
        return working + (counted.total.weight_bytes if self.weights_to_come else 0)


FEW_STEPS = 2


def check(trial: Trial) -> None:
    """Refuse a size that the model cannot make, or that does not fit into memory, and name one that does."""
    try:
        counted = trial.counted()
    except PipelineError as error:
        refuse_size(trial, str(error))
        return  # it is something else: the call itself will tell
    made = counted.request.value("width"), counted.request.value("height")
    if trial.size != (None, None) and trial.size != made:
        refuse_size(trial, f"it would make {_words(*made)} instead")
        raise RequestError(f"{trial.name} makes {_words(*made)} where {_words(*trial.size)} was asked for")
    free = free_bytes(trial.device)
    needed = trial.needed_bytes(counted)
    if free is not None and needed > free:
        raise DiffprofError(
            f"{trial.name} needs about {numbers.gigabytes(needed)} for {_shown(counted)}, and "
            f"{numbers.gigabytes(free)} are free on {trial.device}; {_what_fits(trial, counted, free)}"
        )


def refuse_size(trial: Trial, reason: str) -> None:
    """If another size near it works, refuse this one and name that; else its size is not what is wrong."""
    if trial.size == (None, None) or _makes(trial):
        return
    for multiple in MULTIPLES:
        near = trial.with_size(*(max(multiple, round(side / multiple) * multiple) for side in trial.size))
        if near.size != trial.size and _makes(near):
            raise RequestError(
                f"{trial.name} cannot make {_words(*trial.size)} ({reason.rstrip('.')}); "
                f"the nearest that fits is {_words(*near.size)}"
            )


def out_of_memory(trial: Trial, reason: str) -> DiffprofError:
    """What to say about a call that ran out of memory."""
    free = free_bytes(trial.device)
    try:
        counted = trial.counted()
    except DiffprofError:
        return DiffprofError(f"{trial.name} ran out of memory on {trial.device} ({reason}); use a smaller size")
    needed = numbers.gigabytes(trial.needed_bytes(counted))
    told = f", and {numbers.gigabytes(free)} are free now" if free is not None else ""
    return DiffprofError(
        f"{trial.name} ran out of memory on {trial.device} at {_shown(counted)}, for which it needs about "
        f"{needed}{told}; {_what_fits(trial, counted, free)}"
    )


def _what_fits(trial: Trial, counted: Profile, free: int | None) -> str:
    """The largest of the next smaller sizes that fits into what is free, or into half of what was too much."""
    most = min(free if free is not None else trial.needed_bytes(counted), trial.needed_bytes(counted) * 3 // 4)
    sides = counted.request.value("width"), counted.request.value("height")
    width, height = (side if isinstance(side, int) else 0 for side in sides)
    while width > SMALLEST and height > SMALLEST:
        width, height = (max(SMALLEST, side // 2 // SMALLEST * SMALLEST) for side in (width, height))
        smaller = trial.with_size(width, height)
        try:
            needed = smaller.needed_bytes(smaller.counted())
        except DiffprofError:
            break
        if needed <= most:
            return f"{_words(width, height)} would fit, it needs about {numbers.gigabytes(needed)}"
    return "a smaller dtype or a smaller model may fit"


def _makes(trial: Trial) -> bool:
    """Whether the pipeline makes exactly this size."""
    try:
        request = trial.counted().request
    except PipelineError:
        return False
    made = (request.value("width"), request.value("height"))
    return trial.size == made


def _shown(counted: Profile) -> str:
    width, height = counted.request.value("width"), counted.request.value("height")
    return f"{width}x{height}" if width and height else "its usual size"


def _words(width: Any, height: Any) -> str:
    return f"{width}x{height}"
