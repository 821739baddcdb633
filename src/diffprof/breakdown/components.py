"""The components of a pipeline and what each of them costs."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.breakdown.shares import share
from diffprof.record.profile import Profile


@dataclass(frozen=True)
class ComponentRow:
    """One component: the cost of all its calls, and of one call."""

    component: str
    class_name: str
    role: str
    calls: int
    parameters: int
    least_macs_per_call: int
    most_macs_per_call: int
    """Equal to `least_macs_per_call` if all calls cost the same."""
    macs: int
    flops: int
    other_flops: int
    read_bytes: int
    written_bytes: int
    share: float
    """Share of the generation's MACs."""


def component_table(profile: Profile) -> list[ComponentRow]:
    """One row for each component, in the pipeline's own order."""
    per_call: dict[str, set[int]] = {slot: set() for slot in profile.components}
    for call in profile.calls:
        per_call[call.component].add(call.macs)
    whole = profile.total.macs
    return [
        ComponentRow(
            component=slot,
            class_name=part.class_name,
            role=part.role,
            calls=part.calls,
            parameters=part.parameters,
            least_macs_per_call=min(per_call[slot], default=0),
            most_macs_per_call=max(per_call[slot], default=0),
            macs=part.macs,
            flops=part.flops,
            other_flops=part.other_flops,
            read_bytes=part.work.read_bytes,
            written_bytes=part.work.written_bytes,
            share=share(part.macs, whole),
        )
        for slot, part in profile.components.items()
    ]
