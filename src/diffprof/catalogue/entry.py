"""An entry of the catalogue: a model, its components, and the source of each value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Prefixes of the class names of diffusers' networks that do not run in the denoising loop.
_AROUND_THE_LOOP = (
    "Autoencoder",
    "AsymmetricAutoencoder",
    "ConsistencyDecoder",
    "VQ",
    "PaellaVQ",
    "StableDiffusionSafety",
)

TASKS = (
    "text-to-image",
    "class-to-image",
    "image-to-image",
    "image-editing",
    "inpainting",
    "control",
    "upscaling",
    "text-to-video",
    "image-to-video",
    "video-editing",
    "text-to-audio",
)
"""The tasks that models are made for."""


@dataclass(frozen=True)
class TokenizerFacts:
    """The facts from which a stand-in tokenizer gives the lengths and special tokens of the real one."""

    model_max_length: int
    vocab_size: int
    prefix: tuple[str, ...] = ()
    """Special tokens before every text."""
    suffix: tuple[str, ...] = ()
    """Special tokens after every text."""
    padding_side: str = "right"
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    """The special tokens by role: ``bos_token``, ``eos_token``, ``pad_token``, ``unk_token``."""
    chat_template: str | None = None


@dataclass(frozen=True)
class Part:
    """One component of the pipeline: its class, and configuration values that differ from the class's defaults."""

    slot: str
    class_name: str
    library: str
    """diffusers or transformers."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Values that differ from the defaults; None if the published value is null."""
    parameters: int | None = None
    """None for components without parameters: schedulers, tokenizers, image processors."""
    buffers: int = 0
    published: str | None = None
    """A published parameter count that agrees, with its source."""
    source: str = ""
    tokenizer: TokenizerFacts | None = None


@dataclass(frozen=True)
class Entry:
    """One model of the catalogue."""

    name: str
    title: str
    media: str
    """image, video or audio."""
    hub_id: str | None
    """None for the bundled model, and for a user's own folder or file."""
    pipeline: str
    dtype: str
    source: str
    family: str = ""
    """The family of related models, such as flux or wan."""
    task: str = ""
    """One of `TASKS`."""
    year: int | None = None
    """The year in which the weights were published."""
    licence: str = ""
    """The licence of the weights, as the hub abbreviates it."""
    facts_source: str = ""
    """The source of the year and the licence; without it they are unconfirmed."""
    path: str | None = None
    """The path of a user's own model, on the machine where the entry was made."""
    aliases: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    """Values that no published file confirms: the dotted path, and why."""
    pipeline_config: Mapping[str, Any] = field(default_factory=dict)
    call: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that the pipeline's call requires."""
    inputs: tuple[str, ...] = ()
    """Optional arguments of the call that the model is made for, such as the image of an editing model."""
    recommended: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the model card's example that differ from the pipeline's defaults."""
    recommended_source: str = ""
    """Where the recommended arguments were published."""
    components: Mapping[str, Part] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the entry: short name, aliases and hub id."""
        return tuple(name for name in (self.name, self.hub_id, *self.aliases) if name)

    @property
    def unconfirmed_facts(self) -> tuple[str, ...]:
        """Which of year and licence are known but not confirmed by a published file."""
        return () if self.facts_source else tuple(name for name in ("year", "licence") if getattr(self, name))

    @property
    def unconfirmed_counts(self) -> tuple[str, ...]:
        """The components whose counted parameters could not be compared with a published number."""
        if self.hub_id is None:  # an unpublished model has no published numbers
            return ()
        return tuple(slot for slot, part in self.components.items() if part.parameters and not part.published)

    @property
    def parameters(self) -> int:
        """Total parameters of all components."""
        return sum(part.parameters or 0 for part in self.components.values())

    @property
    def denoiser(self) -> Part | None:
        """The network that runs in every denoising step; the largest if a cascade has several."""
        networks = [
            part
            for part in self.components.values()
            if part.parameters and part.library == "diffusers" and not part.class_name.startswith(_AROUND_THE_LOOP)
        ]
        return max(networks, key=lambda part: part.parameters or 0, default=None)
