"""What one generation costs, as Markdown for a model card."""

from __future__ import annotations

from diffprof.breakdown.components import component_table
from diffprof.breakdown.memory_peaks import counted_peak_bytes
from diffprof.breakdown.throughput import generation
from diffprof.record.history.summary import peak_memory_bytes
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown
from diffprof.render.columns import Column
from diffprof.render.headline import headline
from diffprof.render.warnings import profile_warnings


def model_card(profile: Profile) -> str:
    """A heading, a table of the components, and the most important numbers."""
    # The pipeline's own code has a row only where it computes something.
    rows = [row for row in component_table(profile) if row.macs or row.parameters]
    total = profile.total
    columns = [
        Column("component", [*(row.component for row in rows), "total"], justify="left"),
        Column("class", [*(row.class_name for row in rows), ""], justify="left"),
        Column("calls", [*(numbers.exact(row.calls) for row in rows), ""]),
        Column(
            "parameters", [*(numbers.parameters(row.parameters) for row in rows), numbers.parameters(total.parameters)]
        ),
        Column("MACs", [*(numbers.short(row.macs) for row in rows), numbers.short(total.macs)]),
        Column("share", [*(numbers.percent(row.share) for row in rows), "100 %"]),
    ]
    blocks = [
        Block(
            "Compute",
            [headline(profile)],
            columns,
            [*_figures(profile), *profile_warnings(profile), _versions(profile)],
        ),
    ]
    return markdown(blocks)


def _figures(profile: Profile) -> list[str]:
    total = profile.total
    lines = [
        f"One generation: {numbers.macs(total.macs)} = {numbers.flops(total.flops)}, "
        f"exactly {numbers.exact(total.macs)} MACs (1 MAC = 2 FLOPs)",
        f"Weights: {numbers.gigabytes(total.weight_bytes)}; with the largest activations "
        f"{numbers.gigabytes(counted_peak_bytes(profile))}",
    ]
    whole = generation(profile)
    if whole is not None and profile.measured is not None:
        peak = peak_memory_bytes(profile.measured)
        memory = f", {numbers.gigabytes(peak)} of memory at the peak" if peak else ""
        lines.append(f"Measured on {profile.measured.device.name}: {numbers.nanoseconds(whole.median_ns)}{memory}")
    return lines


def _versions(profile: Profile) -> str:
    environment = profile.environment
    return f"Counted with diffprof {environment.diffprof}, torch {environment.torch}, diffusers {environment.diffusers}"
