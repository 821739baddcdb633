"""A chart of the memory of each stage of a generation, stacked by owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from diffprof.record.fit import Fit, StageMemory
from diffprof.render import numbers
from diffprof.render.charts.style import (
    COLOURS,
    GREY,
    colours_of_components,
    escape,
    graph_objects,
    make_chart,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

GIB = 1024**3
HEIGHT = 420
ACTIVATIONS, WORKSPACE, KEPT, CACHED, CONTEXT = (
    "activations", "workspace", "latents and embeddings", "cached by PyTorch", "CUDA context",
)  # fmt: skip
WEIGHTS = "weights of "
LINE = "#dc2626"
"""Readable on white and on black."""
LIGHT = {CACHED: "#c9ccd1", CONTEXT: GREY}


def stages_chart(fit: Fit) -> Figure:
    """A bar for each stage: weights by component, then activations, then the overhead of PyTorch and CUDA."""
    graph = graph_objects()
    parts = [stage_parts(stage) for stage in fit.stages]
    names = list(
        dict.fromkeys(name for part in parts for name in part if any(part[name] for part in parts if name in part))
    )
    stages = [stage.stage for stage in fit.stages]
    colours = part_colours(names)
    traces = [
        graph.Bar(
            name=escape(name), x=stages, y=[part.get(name, 0) / GIB for part in parts],
            marker={"color": colours[name]},
            hovertext=[f"{escape(name)}: {numbers.gibibytes(part.get(name, 0))}" for part in parts], hoverinfo="text",
        )
        for name in names
    ]  # fmt: skip
    chart = make_chart(
        traces, HEIGHT, barmode="stack", showlegend=True,
        yaxis={"title": {"text": "memory"}, "rangemode": "tozero", "ticksuffix": " GiB"},
        xaxis={"type": "category", "showgrid": False},
    )  # fmt: skip
    if fit.usable_bytes is not None:
        # In the legend, because a label in the chart would cover bars, and would need a colour for each theme.
        label = f"usable on {fit.accelerator or 'the device'}: {numbers.gibibytes(fit.usable_bytes, brief=True)}"
        chart.add_hline(
            y=fit.usable_bytes / GIB, line={"color": LINE, "width": 2, "dash": "dash"}, name=escape(label),
            showlegend=True,
        )  # fmt: skip
    return chart


def part_colours(names: Sequence[str], components: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """The colour of each part of `stage_parts`; components have their usual colours."""
    own = components or colours_of_components(
        [name.removeprefix(WEIGHTS) for name in names if name.startswith(WEIGHTS)]
    )
    free = [colour for colour in COLOURS if colour not in own.values()] or [GREY]
    computed = [name for name in names if name not in LIGHT and not name.startswith(WEIGHTS)]
    colours = {name: free[-1 - number % len(free)] for number, name in enumerate(computed)}
    colours |= {name: own.get(name.removeprefix(WEIGHTS), GREY) for name in names if name.startswith(WEIGHTS)}
    return {**colours, **LIGHT}


def stage_parts(stage: StageMemory) -> dict[str, int]:
    """The memory of a stage by owner: weights, activations, and the overhead of PyTorch and CUDA."""
    parts = {f"{WEIGHTS}{slot}": size for slot, size in stage.weights.items()}
    parts |= {ACTIVATIONS: stage.activation_bytes, KEPT: stage.kept_bytes, WORKSPACE: stage.workspace_bytes}
    parts[CACHED] = max(0, stage.reserved_bytes - sum(parts.values()))
    parts[CONTEXT] = stage.device_bytes - stage.reserved_bytes
    return parts
