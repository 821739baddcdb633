"""One model of the catalogue: what it is made of, and where each value came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Networks of diffusers that do not run in the denoising loop, by what their class names begin with.
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
"""What a model is made for."""


@dataclass(frozen=True)
class TokenizerFacts:
    """What a stand-in tokenizer needs to give the lengths and special tokens of the real one."""

    model_max_length: int
    vocab_size: int
    prefix: tuple[str, ...] = ()
    """Special tokens before every text."""
    suffix: tuple[str, ...] = ()
    """Special tokens after every text."""
    padding_side: str = "right"
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    """``bos_token``, ``eos_token``, ``pad_token``, ``unk_token`` and the token that plays the role."""
    chat_template: str | None = None


@dataclass(frozen=True)
class Part:
    """One slot of the pipeline: its class and the configuration values that differ from the class's defaults."""

    slot: str
    class_name: str
    library: str
    """diffusers or transformers."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Values that differ from the defaults; None where the published value is null."""
    parameters: int | None = None
    """None for what has no parameters: schedulers, tokenizers, image processors."""
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
    """None for the one that comes with diffprof, and for a user's own folder or file."""
    pipeline: str
    dtype: str
    source: str
    family: str = ""
    """What related models have in common, such as flux or wan."""
    task: str = ""
    """One of `TASKS`: what goes in and what comes out."""
    year: int | None = None
    """When the weights were published."""
    licence: str = ""
    """Of the weights, as the hub abbreviates it."""
    facts_source: str = ""
    """Where the year and the licence were published; without it they are not confirmed."""
    path: str | None = None
    """Where the files of a user's own model are, on the machine where the entry was made."""
    aliases: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    """Values that no published file confirmed: the dotted path and why."""
    pipeline_config: Mapping[str, Any] = field(default_factory=dict)
    call: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that the pipeline's call needs and has no default for."""
    inputs: tuple[str, ...] = ()
    """Arguments that the pipeline may be called without but the model is made for: the image of an editing model."""
    recommended: Mapping[str, Any] = field(default_factory=dict)
    """What the model card's example passes where that differs from the pipeline's defaults."""
    recommended_source: str = ""
    """Where the recommended arguments were published."""
    components: Mapping[str, Part] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All names the entry answers to."""
        return tuple(name for name in (self.name, self.hub_id, *self.aliases) if name)

    @property
    def unconfirmed_facts(self) -> tuple[str, ...]:
        """Which of year and licence are known, and no published file was seen to confirm them."""
        return () if self.facts_source else tuple(name for name in ("year", "licence") if getattr(self, name))

    @property
    def unconfirmed_counts(self) -> tuple[str, ...]:
        """The components whose parameters were counted and no published count was seen to compare with."""
        if self.hub_id is None:  # what nobody has published has no published count
            return ()
        return tuple(slot for slot, part in self.components.items() if part.parameters and not part.published)

    @property
    def parameters(self) -> int:
        """Parameters of all components together."""
        return sum(part.parameters or 0 for part in self.components.values())

    @property
    def denoiser(self) -> Part | None:
        """The network that runs in every denoising step; the largest one where a cascade has several."""
        networks = [
            part
            for part in self.components.values()
            if part.parameters and part.library == "diffusers" and not part.class_name.startswith(_AROUND_THE_LOOP)
        ]
        return max(networks, key=lambda part: part.parameters or 0, default=None)
