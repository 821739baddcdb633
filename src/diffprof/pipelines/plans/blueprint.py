"""The plan of a pipeline: classes and configuration values, independent of their origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diffprof.catalogue import Entry, TokenizerFacts
from diffprof.pipelines.headers.stored_weights import StoredWeights


class _StandIn:
    """A placeholder for an argument that is created when the size of the call is known."""

    def __repr__(self) -> str:
        return "a stand-in"


STAND_IN = _StandIn()


@dataclass(frozen=True)
class PartPlan:
    """One slot: a class of diffusers or transformers, and its configuration."""

    slot: str
    library: str
    """diffusers, transformers, or the name of a pipeline package of diffusers such as ``stable_diffusion``."""
    class_name: str
    config: Mapping[str, Any] = field(default_factory=dict)
    only_differences: bool = False
    """Whether the config has only the differences from the class's defaults, instead of a published file."""
    folder: Path | None = None
    """The folder of its files."""
    is_missing: bool = False
    """Whether the model lists it without a configuration file."""
    tokenizer: TokenizerFacts | None = None
    parameters: int | None = None
    """The published count, if one is known."""


@dataclass(frozen=True)
class Blueprint:
    """A plan for building a pipeline."""

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
    """The module of the model's repository that defines the pipeline's class; it is never imported."""
    assumptions: tuple[str, ...] = ()
    blocks: str | None = None
    """The class of a modular pipeline's blocks; None for the defaults of the pipeline's class."""
    stored: Mapping[str, StoredWeights] = field(default_factory=dict)
    """The stored weights by slot, if there are files."""
    assume_defaults: bool = False
    """Whether to build a model without a configuration from its class's defaults instead of refusing it."""


def from_entry(entry: Entry) -> Blueprint:
    """Return the plan of a catalogue model."""
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
    """Return what the call of a catalogue model needs besides a prompt."""
    return {**entry.call, **dict.fromkeys(entry.inputs, STAND_IN)}
