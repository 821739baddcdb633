"""The plan of a pipeline: classes and configuration values, wherever they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diffprof.catalogue import Entry, TokenizerFacts
from diffprof.pipelines.headers.stored_weights import StoredWeights


class _StandIn:
    """Stands for an argument that is made when the size of the call is known."""

    def __repr__(self) -> str:
        return "a stand-in"


STAND_IN = _StandIn()


@dataclass(frozen=True)
class PartPlan:
    """One slot: a class of diffusers or transformers and what to build it with."""

    slot: str
    library: str
    """diffusers, transformers, or the name of a pipeline package of diffusers such as ``stable_diffusion``."""
    class_name: str
    config: Mapping[str, Any] = field(default_factory=dict)
    only_differences: bool = False
    """The config holds what differs from the class's defaults, not a published file."""
    folder: Path | None = None
    """Where its files lie."""
    is_missing: bool = False
    """The model names it, and has no configuration file of it."""
    tokenizer: TokenizerFacts | None = None
    parameters: int | None = None
    """The published count, where one is known."""


@dataclass(frozen=True)
class Blueprint:
    """A pipeline to be built."""

    name: str
    source: str
    """catalogue, folder, file or hub."""
    pipeline: str
    parts: Mapping[str, PartPlan]
    pipeline_config: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    call: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that the call needs; `STAND_IN` for an image or a video."""
    own_module: str | None = None
    """The module of the model's repository that is said to have the pipeline's class; it is never imported."""
    assumptions: tuple[str, ...] = ()
    blocks: str | None = None
    """The class of a modular pipeline's blocks; None for the defaults of the pipeline's class."""
    stored: Mapping[str, StoredWeights] = field(default_factory=dict)
    """By slot, the weights that files hold, where there are any."""
    assume_defaults: bool = False
    """A model without a configuration is built from its class's own defaults instead of being refused."""


def from_entry(entry: Entry) -> Blueprint:
    """The plan of a catalogue model."""
    parts = {
        slot: PartPlan(
            slot=slot,
            library=part.library,
            class_name=part.class_name,
            config=part.config,
            only_differences=True,
            tokenizer=part.tokenizer,
            parameters=part.parameters,
        )
        for slot, part in entry.components.items()
    }
    assumptions = [f"not confirmed by a published file: {sentence}" for sentence in entry.unconfirmed]
    return Blueprint(
        name=entry.name,
        source="catalogue",
        pipeline=entry.pipeline,
        parts=parts,
        pipeline_config=entry.pipeline_config,
        dtype=entry.dtype,
        call=needed_arguments(entry),
        assumptions=tuple(assumptions),
    )


def needed_arguments(entry: Entry) -> dict[str, Any]:
    """What the call of a catalogue model needs besides a prompt."""
    return {**entry.call, **dict.fromkeys(entry.inputs, STAND_IN)}
