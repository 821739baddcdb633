"""What a request changes besides the arguments of the call: switches, the scheduler, the guidance interval."""

from __future__ import annotations

from dataclasses import dataclass, replace

from diffprof.record.changes import Changes
from diffprof.record.request import Request


@dataclass(frozen=True)
class Variation:
    """Switches, another scheduler, and guidance in a part of the steps; nothing of it for the model as it is."""

    enable: tuple[str, ...] = ()
    scheduler: str | None = None
    guidance_interval: tuple[float, ...] = ()

    @property
    def changes(self) -> Changes:
        """What of it is a change of the model."""
        return Changes(guidance_interval=self.guidance_interval)

    def refusal(self) -> str:
        """What a law that was not proved with it says."""
        if self.scheduler is not None:
            return f"with the model's own scheduler, not with {self.scheduler}"
        if self.enable:
            return f"with nothing enabled, not with {self.enable[0]}"
        return OTHER_CHANGES


OTHER_CHANGES = "for the model as it is published, without adapters, packed weights or other changes"


def variation_of(request: Request) -> Variation | None:
    """What the request asks for; None where it asks for more than a law can be proved with."""
    if replace(request.changes, guidance_interval=()):
        return None
    return Variation(tuple(sorted(set(request.enable))), request.scheduler, request.changes.guidance_interval)
