"""Check by a dry run whether a model can generate a size on this machine, and suggest another size if not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from diffprof.counting.profile import profile_call
from diffprof.errors import DiffprofError, PipelineError, RequestError
from diffprof.pipelines.loading.free_memory import free_bytes
from diffprof.record.profile import Profile
from diffprof.render import numbers

MULTIPLES = (2, 4, 8, 16, 32, 64, 128)
SMALLEST = 64
FEW_STEPS = 2
ARGUMENTS = ("prompt", "width", "height", "num_frames", "num_inference_steps", "image", "video")
"""The call arguments that determine the size of a call."""


@dataclass(frozen=True)
class Trial:
    """A model, with or without its weights, and the call to try on it."""

    target: Any
    """A live pipeline, or the source of a model that is not loaded yet."""
    name: str
    arguments: Mapping[str, Any]
    device: torch.device
    dtype: str | None = None
    """The dtype for a model that is not loaded yet; None for the model's own."""
    loads_weights: bool = False
    """Whether the weights still have to be moved to the device."""

    @property
    def size(self) -> tuple[Any, Any]:
        """Width and height; both are None if none was requested."""
        return self.arguments.get("width"), self.arguments.get("height")

    def with_size(self, width: int, height: int) -> Trial:
        return replace(self, arguments={**self.arguments, "width": width, "height": height})

    def count(self) -> Profile:
        """Count the call with few steps: more steps need no more memory."""
        few = {"num_inference_steps": FEW_STEPS} if "num_inference_steps" in self.arguments else {}
        dtype = self.dtype if isinstance(self.target, str | Path) else None
        return profile_call(self.target, {**self.arguments, **few}, dtype=dtype)

    def needed_bytes(self, counted: Profile) -> int:
        """The memory that the call takes, including weights that are not loaded yet."""
        activations = max((component.peak_live_bytes for component in counted.components.values()), default=0)
        return activations + (counted.total.weight_bytes if self.loads_weights else 0)


def check_size(trial: Trial) -> None:
    """Refuse a size that the model cannot generate or that does not fit into memory, and suggest one that does."""
    try:
        counted = trial.count()
    except PipelineError as error:
        refuse_bad_size(trial, str(error))
        return  # the size is not the problem; the real call will say what is
    actual = counted.request.value("width"), counted.request.value("height")
    if trial.size != (None, None) and trial.size != actual:
        refuse_bad_size(trial, f"it would generate {_format_size(*actual)} instead")
        raise RequestError(
            f"{trial.name} generates {_format_size(*actual)} where {_format_size(*trial.size)} was requested"
        )
    free = free_bytes(trial.device)
    needed = trial.needed_bytes(counted)
    if free is not None and needed > free:
        raise DiffprofError(
            f"{trial.name} needs about {numbers.gigabytes(needed)} for {_requested_size(counted)}, and "
            f"{numbers.gigabytes(free)} are free on {trial.device}; {_smaller_size_hint(trial, counted, free)}"
        )


def refuse_bad_size(trial: Trial, reason: str) -> None:
    """Raise an error that names a similar size that works; if there is none, the size is not the problem."""
    if trial.size == (None, None) or _produces_size(trial):
        return
    for multiple in MULTIPLES:
        near = trial.with_size(*(max(multiple, round(side / multiple) * multiple) for side in trial.size))
        if near.size != trial.size and _produces_size(near):
            raise RequestError(
                f"{trial.name} cannot generate {_format_size(*trial.size)} ({reason.rstrip('.')}); "
                f"the nearest size that works is {_format_size(*near.size)}"
            )


def out_of_memory_error(trial: Trial, reason: str) -> DiffprofError:
    """The error for a call that ran out of memory, with a size that would fit."""
    free = free_bytes(trial.device)
    try:
        counted = trial.count()
    except DiffprofError:
        return DiffprofError(f"{trial.name} ran out of memory on {trial.device} ({reason}); use a smaller size")
    needed = numbers.gigabytes(trial.needed_bytes(counted))
    free_now = f", and {numbers.gigabytes(free)} are free now" if free is not None else ""
    return DiffprofError(
        f"{trial.name} ran out of memory on {trial.device} at {_requested_size(counted)}, for which it needs about "
        f"{needed}{free_now}; {_smaller_size_hint(trial, counted, free)}"
    )


def _smaller_size_hint(trial: Trial, counted: Profile, free: int | None) -> str:
    """Suggest a size that fits into the free memory, found by halving the size repeatedly."""
    needed_before = trial.needed_bytes(counted)
    budget = min(free if free is not None else needed_before, needed_before * 3 // 4)
    sides = counted.request.value("width"), counted.request.value("height")
    width, height = (side if isinstance(side, int) else 0 for side in sides)
    while width > SMALLEST and height > SMALLEST:
        width, height = (max(SMALLEST, side // 2 // SMALLEST * SMALLEST) for side in (width, height))
        smaller = trial.with_size(width, height)
        try:
            needed = smaller.needed_bytes(smaller.count())
        except DiffprofError:
            break
        if needed <= budget:
            return f"{_format_size(width, height)} would fit, it needs about {numbers.gigabytes(needed)}"
    return "a smaller dtype or a smaller model may fit"


def _produces_size(trial: Trial) -> bool:
    """Whether the pipeline generates exactly this size."""
    try:
        request = trial.count().request
    except PipelineError:
        return False
    return trial.size == (request.value("width"), request.value("height"))


def _requested_size(counted: Profile) -> str:
    width, height = counted.request.value("width"), counted.request.value("height")
    return _format_size(width, height) if width and height else "its default size"


def _format_size(width: Any, height: Any) -> str:
    return f"{width}x{height}"
