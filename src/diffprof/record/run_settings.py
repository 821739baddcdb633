"""How a pipeline is run beside what is counted: where its weights lie, in which form, and on how many devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OFFLOADS = ("none", "model", "sequential", "group", "group-leaf")
"""Ways to keep weights off the device until they are needed."""

ATTENTIONS = ("sdpa", "math")
"""Attention in a fused kernel, or step by step."""


@dataclass(frozen=True)
class RunSettings:
    """What memory and time depend on beside the count; `diffprof fit` and `diffprof predict` take the same."""

    offload: str = "none"
    use_stream: bool = True
    """Group offload: the next group comes while one computes."""
    blocks_per_group: int = 1
    quantize: Mapping[str, str] = field(default_factory=dict)
    """Component: library and kind, such as ``bitsandbytes:nf4``; ``*`` for denoisers and text encoders."""
    layerwise: Mapping[str, str] = field(default_factory=dict)
    """Component: the dtype that its layers are kept in (``enable_layerwise_casting``); ``*`` for denoisers."""
    drop_text_encoders: bool = False
    """Text encoders are deleted when the prompt is encoded."""
    attention: str = "sdpa"
    compiled: bool = False
    devices: int = 1
    """Of context parallelism: each computes its part of the sequence."""
    skip_rate: float = 0.0
    """Of the denoiser's calls, the share that a cache skips."""
    without: tuple[str, ...] = ()
    """Components that are not loaded, as ``from_pretrained(..., safety_checker=None)`` does."""
