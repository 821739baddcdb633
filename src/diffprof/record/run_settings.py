"""How a pipeline is run, which does not change its count: where and how weights are kept, on how many devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from diffprof.errors import RequestError
from diffprof.record.changes import Changes

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
    """Devices for context parallelism, each of which computes its part of the sequence."""
    skip_rate: float = 0.0
    """The share of the denoiser's calls that a cache skips."""
    without: tuple[str, ...] = ()
    """Components that are not loaded, as ``from_pretrained(..., safety_checker=None)`` does."""

    @classmethod
    def create(
        cls,
        *,
        quantize: str | Mapping[str, str] | Iterable[str] | None = None,
        layerwise: str | Mapping[str, str] | Iterable[str] | None = None,
        without: str | Iterable[str] | None = None,
        **settings: Any,
    ) -> RunSettings:
        """The settings from what a user gives: one kind for all components, or one for each; one name, or several."""
        changes = Changes.create(quantize=quantize, layerwise=layerwise)
        names = (without,) if isinstance(without, str) else tuple(dict.fromkeys(without or ()))
        return cls(quantize=changes.quantize, layerwise=changes.layerwise, without=names, **settings)

    def check(self) -> None:
        """Refuse what no pipeline can be run with."""
        if self.offload not in OFFLOADS:
            raise RequestError(f"Unknown offload mode {self.offload!r}; use one of {', '.join(OFFLOADS)}.")
        if self.attention not in ATTENTIONS:
            raise RequestError(f"Unknown attention {self.attention!r}; use {' or '.join(ATTENTIONS)}.")
        if self.devices < 1 or self.blocks_per_group < 1:
            raise RequestError("A number of devices, or of blocks in a group, is 1 or more.")
        if not self.use_stream and not self.offload.startswith("group"):
            raise RequestError(
                "Only group offload moves weights in a stream; leave out --no-stream, or use --offload group."
            )
        if self.blocks_per_group > 1 and self.offload != "group":
            raise RequestError("Only --offload group moves several blocks at a time; leave out --blocks-per-group.")
        if not 0 <= self.skip_rate < 1:
            raise RequestError(f"The share of skipped calls must be from 0 to below 1, not {self.skip_rate:g}.")
