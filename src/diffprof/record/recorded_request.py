"""The request of a profile, with every argument that the pipeline used and the versions of the count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diffprof.record.changes import Changes
from diffprof.record.inputs import recorded_input
from diffprof.record.request import Request


@dataclass(frozen=True)
class RecordedRequest:
    """The request of a profile with everything that the pipeline used for it, as plain values."""

    model: str
    source: str
    """catalogue, folder, hub or object."""
    pipeline: str
    arguments: Mapping[str, Any]
    """The given call arguments, as plain values."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values that the pipeline used for other call arguments: its own defaults and stand-ins."""
    dtype: str | None = None
    scheduler: str | None = None
    enable: tuple[str, ...] = ()
    changes: Changes = field(default_factory=Changes)
    """The changes to the model, by changed component."""
    recommended: tuple[str, ...] = ()
    """Names of arguments that were not given but recommended by the catalogue."""
    config: str | None = None
    """The model whose configuration a weight file uses, if one was named."""
    component: str | None = None
    """The component, if only one was called; None for the call of a pipeline."""
    method: str | None = None
    """The called method of that component, if it is not its forward pass."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """The requested shapes and values of that component's inputs, by name."""
    assume_defaults: bool = False
    """Whether models without a configuration were to be built from the defaults of their classes."""

    def value(self, argument: str) -> Any:
        """Return the value of a call argument, given or not; None if there is none.

        A size that the pipeline has changed is among the defaults, as it was made.
        """
        return self.defaults.get(argument, self.arguments.get(argument))

    def as_request(self, model: str | Path) -> Request:
        """Return the same request for a model, to count it under the same conditions."""
        # A generator is an object of a program, and does not change counts.
        arguments = {name: recorded_input(name, value) for name, value in self.arguments.items() if name != "generator"}
        # Recommended values are among the arguments; all others were the pipeline's defaults.
        return Request.create(
            model,
            # Inputs of a component replace its arguments.
            arguments if self.component is None else {},
            dtype=self.dtype,
            scheduler=self.scheduler,
            enable=self.enable,
            changes=self.changes,
            pipeline_defaults=True,
            config=self.config,
            component=self.component,
            method=self.method,
            inputs=self.inputs,
            assume_defaults=self.assume_defaults,
        )


@dataclass(frozen=True)
class Environment:
    """Versions that a count can depend on."""

    diffprof: str
    python: str
    torch: str
    diffusers: str
    transformers: str
