"""Settings of a run that do not change its count: where and how weights are stored, and on how many devices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from diffprof.errors import RequestError
from diffprof.record.changes import Changes

OFFLOADS = ("none", "model", "sequential", "group", "group-leaf")
"""Modes of keeping weights off the device until they are needed."""

ATTENTIONS = ("sdpa", "math")
"""Attention in a fused kernel, or as separate operations."""


@dataclass(frozen=True)
class RunSettings:
    """The settings that memory and time depend on besides the count; `diffprof fit` and `diffprof predict` use them."""

    offload: str = "none"
    use_stream: bool = True
    """Group offload: whether the next group is transferred while one computes."""
    blocks_per_group: int = 1
    quantize: Mapping[str, str] = field(default_factory=dict)
    """Library and kind by component, such as ``bitsandbytes:nf4``; ``*`` for denoisers and text encoders."""
    layerwise: Mapping[str, str] = field(default_factory=dict)
    """The storage dtype of layers by component (``enable_layerwise_casting``); ``*`` for denoisers."""
    drop_text_encoders: bool = False
    """Whether text encoders are deleted after the prompt is encoded."""
    attention: str = "sdpa"
    compiled: bool = False
    devices: int = 1
    """Number of devices for context parallelism; each computes its part of the sequence."""
    skip_rate: float = 0.0
    """The share of the denoiser's calls that a cache skips."""
    without: tuple[str, ...] = ()
    """Components that are not loaded, as ``from_pretrained(..., safety_checker=None)`` does."""

    @cached_property
    def key(self) -> tuple[Hashable, ...]:
        """All settings as one value by which results can be kept."""
        return (
            self.offload, self.use_stream, self.blocks_per_group, *self.storage, self.drop_text_encoders,
            self.attention, self.compiled, self.devices, self.skip_rate, self.without,
        )  # fmt: skip

    @cached_property
    def storage(self) -> tuple[Hashable, Hashable]:
        """How weights are stored."""
        return tuple(self.quantize.items()), tuple(self.layerwise.items())

    @classmethod
    def create(
        cls,
        *,
        quantize: str | Mapping[str, str] | Iterable[str] | None = None,
        layerwise: str | Mapping[str, str] | Iterable[str] | None = None,
        without: str | Iterable[str] | None = None,
        **settings: Any,
    ) -> RunSettings:
        """Create the settings from user input: one kind for all components or one for each; one name or several."""
        changes = Changes.create(quantize=quantize, layerwise=layerwise)
        names = (without,) if isinstance(without, str) else without or ()
        if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
            raise RequestError(f"without takes names of components, not {without!r}.")
        return cls(
            quantize=changes.quantize, layerwise=changes.layerwise, without=tuple(dict.fromkeys(names)), **settings
        )

    def check(self) -> None:
        """Refuse settings that no pipeline can be run with."""
        self._check_kinds()
        if self.offload not in OFFLOADS:
            raise RequestError(f"Unknown offload mode {self.offload!r}; use one of {', '.join(OFFLOADS)}.")
        if self.attention not in ATTENTIONS:
            raise RequestError(f"Unknown attention {self.attention!r}; use {' or '.join(ATTENTIONS)}.")
        if self.devices < 1 or self.blocks_per_group < 1:
            raise RequestError("The number of devices and the number of blocks in a group must be 1 or more.")
        if not self.use_stream and not self.offload.startswith("group"):
            raise RequestError(
                "Only group offload moves weights in a stream; leave out --no-stream, or use --offload group."
            )
        if self.blocks_per_group > 1 and self.offload != "group":
            raise RequestError("Only --offload group moves several blocks at a time; leave out --blocks-per-group.")
        if not 0 <= self.skip_rate < 1:
            raise RequestError(f"The share of skipped calls must be from 0 to below 1, not {self.skip_rate:g}.")

    def _check_kinds(self) -> None:
        """Refuse values of the wrong type, which only a program can give."""
        for name, kinds, words in (
            ("devices", int, "a whole number"), ("blocks_per_group", int, "a whole number"),
            ("skip_rate", int | float, "a number"), ("compiled", bool, "True or False"),
            ("use_stream", bool, "True or False"), ("drop_text_encoders", bool, "True or False"),
        ):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, kinds) or (kinds is not bool and isinstance(value, bool)):
                raise RequestError(f"{'compile' if name == 'compiled' else name} must be {words}, not {value!r}.")
