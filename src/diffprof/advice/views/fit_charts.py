"""Memory over the stages of a generation, stacked by owner, with the line of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffprof.record.fitted import Fit, StageMemory
from diffprof.render import numbers
from diffprof.render.charts.style import GREY, colours_of, escape, graph_objects, make_chart

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

GIB = 1024**3
HEIGHT = 420
ACTIVATIONS, WORKSPACE, KEPT, CACHED, CONTEXT = (
    "activations", "workspace", "latents and embeddings", "cached by PyTorch", "CUDA context",
)  # fmt: skip
LINE = "#b3261e"
LIGHT = {CACHED: "#c9ccd1", CONTEXT: GREY}


def stages_chart(fit: Fit) -> Figure:
    """A bar for each stage: weights by component, then what is computed, then what PyTorch and CUDA hold beside."""
    graph = graph_objects()
    parts = [stage_parts(stage) for stage in fit.stages]
    names = list(
        dict.fromkeys(name for part in parts for name in part if any(part[name] for part in parts if name in part))
    )
    stages = [stage.stage for stage in fit.stages]
    coloured = colours_of([name for name in names if name not in LIGHT])
    traces = [
        graph.Bar(
            name=escape(name), x=stages, y=[part.get(name, 0) / GIB for part in parts],
            marker={"color": LIGHT.get(name, coloured.get(name))},
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
        label = f"{fit.accelerator or 'device'}: {numbers.gibibytes(fit.usable_bytes)} usable"
        chart.add_hline(
            y=fit.usable_bytes / GIB,
            line={"color": LINE, "width": 2, "dash": "dash"},
            annotation={"text": escape(label), "font": {"color": LINE}, "bgcolor": "rgba(255,255,255,0.85)"},
            annotation_position="top left",
        )
    return chart


def stage_parts(stage: StageMemory) -> dict[str, int]:
    """The memory of a stage by owner: weights, what is computed, and what PyTorch and CUDA hold beside."""
    parts = {f"weights of {slot}": size for slot, size in stage.weights.items()}
    parts |= {ACTIVATIONS: stage.activation_bytes, KEPT: stage.kept_bytes, WORKSPACE: stage.workspace_bytes}
    parts[CACHED] = max(0, stage.reserved_bytes - sum(parts.values()))
    parts[CONTEXT] = stage.device_bytes - stage.reserved_bytes
    return parts
