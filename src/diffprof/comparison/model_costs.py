"""The cost of one generation with each of several models, each with its recommended settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from diffprof.comparison.counts import peak_memory
from diffprof.errors import DiffprofError
from diffprof.record.profile import Profile


@dataclass(frozen=True)
class ModelCost:
    """The profile of a model, or why there is none."""

    name: str
    profile: Profile | None
    problem: str = ""

    def figures(self) -> dict[str, int]:
        """The exact counts by name; empty without a profile."""
        if self.profile is None:
            return {}
        total = self.profile.total
        return {
            "steps": self.profile.steps.count,
            "step_macs": self.profile.steps.macs,
            "macs": total.macs,
            "flops": total.flops,
            "parameters": total.parameters,
            "weights": total.weight_bytes,
            "peak_memory": peak_memory(self.profile),
        }


def model_costs(names: Sequence[str], count: Callable[[str], Profile]) -> list[ModelCost]:
    """Count each model; one that cannot be counted does not stop the others."""
    return [_cost(name, count) for name in names]


def _cost(name: str, count: Callable[[str], Profile]) -> ModelCost:
    try:
        return ModelCost(name, count(name))
    except DiffprofError as error:
        return ModelCost(name, None, str(error))


def relative_costs(costs: Sequence[ModelCost]) -> list[float | None]:
    """The MACs of each model relative to those of the first that was counted."""
    first = next((one.profile.total.macs for one in costs if one.profile and one.profile.total.macs), None)
    return [one.profile.total.macs / first if one.profile and first else None for one in costs]
