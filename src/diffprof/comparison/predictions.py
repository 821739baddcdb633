"""Predicted memory and time of two profiles on accelerators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diffprof.catalogue.accelerators import find_accelerator
from diffprof.catalogue.own_accelerators import known_accelerators
from diffprof.prediction.on_accelerator import OnAccelerator, on_accelerator
from diffprof.record.profile import Profile


@dataclass(frozen=True)
class PredictedChange:
    """The prediction for one accelerator before and after."""

    before: OnAccelerator
    after: OnAccelerator

    @property
    def accelerator(self) -> str:
        """The name of the accelerator; empty for memory on no particular device."""
        return self.after.accelerator


def predicted_changes(before: Profile, after: Profile, accelerators: Sequence[str]) -> tuple[PredictedChange, ...]:
    """The predicted change on each accelerator; an empty name means memory on no particular device."""
    known = known_accelerators()
    found = [find_accelerator(name, known) if name else None for name in dict.fromkeys(accelerators)]
    return tuple(PredictedChange(on_accelerator(before, entry), on_accelerator(after, entry)) for entry in found)
