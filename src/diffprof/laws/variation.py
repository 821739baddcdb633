"""The changes of a request besides the call arguments: switches, the scheduler, the guidance interval."""

from __future__ import annotations

from dataclasses import dataclass, replace

from diffprof.record.changes import Changes
from diffprof.record.request import Request


@dataclass(frozen=True)
class Variation:
    """Switches, another scheduler, and guidance in part of the steps; empty for the model as published."""

    enable: tuple[str, ...] = ()
    scheduler: str | None = None
    guidance_interval: tuple[float, ...] = ()

    @property
    def changes(self) -> Changes:
        """The part of it that changes the model."""
        return Changes(guidance_interval=self.guidance_interval)

    def refusal(self) -> str:
        """Return the words with which a law refuses it."""
        if self.scheduler is not None:
            return f"with the model's own scheduler, not with {self.scheduler}"
        if self.enable:
            return f"with nothing enabled, not with {self.enable[0]}"
        return OTHER_CHANGES


OTHER_CHANGES = "for the model as it is published, without adapters, packed weights or other changes"


def variation_of(request: Request) -> Variation | None:
    """Return the variation of a request; None if the request changes more than a law can cover."""
    if replace(request.changes, guidance_interval=()):
        return None
    return Variation(tuple(sorted(set(request.enable))), request.scheduler, request.changes.guidance_interval)
