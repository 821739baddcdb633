"""Find the place of an attention call in the model, and whether it is self, cross or joint attention."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from diffprof.record.executed_calls import ExecutedOp


@dataclass
class Frame:
    """A module that is being called, with its arguments."""

    path: str
    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    tally: dict[ExecutedOp, int]


def pattern(path: str) -> str:
    """``blocks.7.attn`` -> ``blocks.*.attn``, so that equal layers are grouped."""
    return re.sub(r"(?<=\.)\d+(?=\.|$)", "*", path)


def relation_of(frames: Sequence[Frame], query_tokens: int, key_tokens: int) -> str:
    """Return self, cross (keys from elsewhere) or joint (one sequence of image and text tokens)."""
    if query_tokens != key_tokens:
        return "cross"
    for frame in [*reversed(frames[-INSPECTED_FRAMES:]), *frames[:1]]:
        hidden, context = _streams(frame)
        if hidden is None or context is None or context is hidden:
            continue
        if getattr(frame.module, "is_cross_attention", False):
            return "cross"
        own = hidden.shape[1] if hidden.dim() == 3 else _patches(frame.module, hidden)
        if own is not None and own < query_tokens:
            return "joint"
    return "self"


INSPECTED_FRAMES = 4
"""The number of innermost modules that determine the relation of an attention call, besides the outermost one."""


def stream_shapes(frame: Frame) -> Any:
    """Return what `relation_of` uses of a frame; it is equal for equivalent frames."""
    hidden, context = _streams(frame)
    if hidden is None or context is None or context is hidden:
        return None
    is_cross = bool(getattr(frame.module, "is_cross_attention", False))
    return is_cross, hidden.shape[1] if hidden.dim() == 3 else _patches(frame.module, hidden)


def _streams(frame: Frame) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Return the image and the text that a module was called with; None if it was not called with both."""
    context = frame.kwargs.get("encoder_hidden_states", frame.args[1] if len(frame.args) > 1 else None)
    hidden = frame.kwargs.get("hidden_states", frame.args[0] if frame.args else None)
    if not isinstance(context, torch.Tensor) or context.dim() != 3:
        context = None
    return (hidden if isinstance(hidden, torch.Tensor) and hidden.dim() >= 3 else None), context


def _patches(module: torch.nn.Module, image: torch.Tensor) -> int | None:
    """Return the number of tokens of an image or a video in a transformer whose configuration has a patch size."""
    config = getattr(module, "config", None)
    size = getattr(config, "patch_size", None)
    if size is None:
        return None
    sizes = (1, size, size) if isinstance(size, int) else tuple(size)
    space = image.shape[2:]
    return prod(space) // prod(sizes[-len(space) :])
