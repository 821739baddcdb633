"""The request of a profile, with every argument that the pipeline used and the versions that counted it."""

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
    """The request of a profile with all that the pipeline used for it, as plain values."""

    model: str
    source: str
    """catalogue, folder, hub or object."""
    pipeline: str
    arguments: Mapping[str, Any]
    """Call arguments that were given, as plain values."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Call arguments that were not given and what the pipeline used: its own defaults and stand-ins."""
    dtype: str | None = None
    scheduler: str | None = None
    enable: tuple[str, ...] = ()
    changes: Changes = field(default_factory=Changes)
    """What was changed about the model, by the components that were changed."""
    recommended: tuple[str, ...] = ()
    """Which of the arguments were not given but recommended by the catalogue."""
    config: str | None = None
    """The model that a weight file has its configuration from, where one was named."""
    component: str | None = None
    """The one component that was called by itself; None for the call of a pipeline."""
    method: str | None = None
    """The called method of that component, if it is not its forward pass."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """The requested shapes and values of that component's inputs, by name."""
    assume_defaults: bool = False
    """Whether models without a configuration were to be built from the defaults of their classes."""

    def value(self, argument: str) -> Any:
        """The value that was in force for a call argument, given or not; None when there is none.

        A size that was asked for and not made stands among the defaults as it was made.
        """
        return self.defaults.get(argument, self.arguments.get(argument))

    def as_request(self, model: str | Path) -> Request:
        """The same request for a model, to count it under the same conditions."""
        # A generator was created by a program; it changes no count.
        arguments = {name: recorded_input(name, value) for name, value in self.arguments.items() if name != "generator"}
        # What was recommended is among the arguments; anything else had the pipeline's default.
        return Request.create(
            model,
            # Those of a component are made of its inputs.
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
