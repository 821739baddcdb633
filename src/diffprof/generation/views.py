"""Print generations: one with the cost of its components, or a table of several models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from diffprof.findings import findings
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown
from diffprof.render.clean import clean
from diffprof.render.columns import Column, fit_columns, print_table
from diffprof.render.console import print_lines
from diffprof.render.csv import table_csv
from diffprof.render.findings import finding_lines, print_findings
from diffprof.render.run_console import print_heading
from diffprof.render.run_sentences import step_lines
from diffprof.render.run_tables import part_columns

if TYPE_CHECKING:
    from rich.console import Console

UNKNOWN = "-"
FAILED = "failed"

MODEL_KEYS = ("model_id", "model_name", "image_path", "seed", "error")
PROFILE_KEYS = (
    "inference_time_seconds", "num_executed_steps", "total_macs", "total_flops", "macs_per_step", "throughput_tflops",
    "steps_per_second", "pipeline_params", "peak_memory_bytes", "peak_memory_of", "load_seconds", "device",
)  # fmt: skip


@dataclass(frozen=True)
class GenerationRow:
    """A row of the table of models; None for values that were not measured."""

    model: str
    succeeded: bool = True
    seconds: float | None = None
    macs: int | None = None
    flops_per_second: float | None = None
    peak_memory_bytes: int | None = None
    parameters: int | None = None
    """Parameters of the whole pipeline."""
    steps: int | None = None
    """Executed denoising steps."""
    profile: Profile | None = None
    notes: Sequence[str] = ()
    """Notes about assumptions and about what could not be done."""


def compute_profile_text(data: Mapping[str, Any]) -> str:
    """The text that the guides print after a generation: parameters, FLOPs, MACs, steps and time."""
    if not data.get("enabled"):
        return f"No compute profile: {data.get('reason', 'nothing was counted')}"
    lines = {
        "Parameters": data["params_str"],
        "FLOPs (total)": data["total_flops_str"],
        "MACs (total)": data["total_macs_str"],
        "FLOPs/step": data["flops_per_step_str"],
        "MACs/step": data["macs_per_step_str"],
        "Steps": data["num_inference_steps"],
    }
    listed = [f"   {label}: {value}" for label, value in lines.items()]
    title = clean(f"Compute Profile for {data['model_id']}:")
    return "\n".join([title, *listed, "", f"Inference time: {data['inference_time_str']}"])


def print_generation(profile: Profile, notes: Sequence[str], console: Console) -> None:
    """Print one generation: the request, the cost of its components, its steps, and findings."""
    print_heading(profile, console)
    columns = part_columns(profile, console.options.ascii_only)
    if columns[0].cells:
        print_table(fit_columns(columns, console.width), console, total=True)
        console.print()
    print_lines([*step_lines(profile, console.options.ascii_only), *(("Note", note) for note in notes)], console)
    print_findings(findings(profile), console)


def print_generations(rows: Sequence[GenerationRow], console: Console) -> None:
    """Print a row for each model, then notes, and the first finding of each."""
    print_table(fit_columns(_columns(rows), console.width), console)
    _print_by_model("Notes", [(row.model, note) for row in rows for note in row.notes], console)
    firsts = [(row.model, _first_finding(row.profile)) for row in rows if row.profile is not None]
    _print_by_model("Findings", firsts, console)


def generations_markdown(rows: Sequence[GenerationRow]) -> str:
    """The table of models as Markdown."""
    notes = [f"{row.model}: {note}" for row in rows for note in row.notes]
    firsts = [f"{row.model}: {_first_finding(row.profile)}" for row in rows if row.profile is not None]
    return markdown([Block(columns=_columns(rows), after=[*notes, *firsts])])


def _columns(rows: Sequence[GenerationRow]) -> list[Column]:
    return [
        Column("model", [row.model for row in rows], justify="left", style="bold", least=12),
        Column("steps", _cells(rows, lambda row: row.steps, numbers.exact), rank=3),
        Column("time", [_time(row) for row in rows]),
        Column("parameters", _cells(rows, lambda row: row.parameters, numbers.parameters), rank=4),
        Column("MACs", _cells(rows, lambda row: row.macs, numbers.short)),
        Column("throughput", _cells(rows, lambda row: row.flops_per_second, numbers.flops_per_second), rank=1),
        Column("peak memory", _cells(rows, lambda row: row.peak_memory_bytes, numbers.gigabytes), rank=2),
    ]


def generations_csv(models: Sequence[Mapping[str, Any]]) -> str:
    """The ``models`` of a ``generation_config.json`` as CSV."""
    return table_csv(
        (*MODEL_KEYS, *PROFILE_KEYS),
        [
            {
                **{name: model.get(name) for name in MODEL_KEYS},
                **{name: (model["compute_profile"] or {}).get(name) for name in PROFILE_KEYS},
            }
            for model in models
        ],
    )


def _first_finding(profile: Profile) -> str:
    found = findings(profile)
    return finding_lines(found[0]).title if found else "nothing stands out."


def _print_by_model(title: str, lines: Sequence[tuple[str, str]], console: Console) -> None:
    """Print lines below a title; nothing if there are none."""
    from rich.text import Text

    if not lines:
        return
    console.print()
    console.print(Text(title, style="bold"))
    for model, line in lines:
        console.print(Text(clean(f"{model}: {line}")))


def _cells(
    rows: Sequence[GenerationRow], value_of: Callable[[GenerationRow], Any], format_value: Callable[[Any], str]
) -> list[str]:
    values = [value_of(row) for row in rows]
    return [UNKNOWN if value is None else format_value(value) for value in values]


def _time(row: GenerationRow) -> str:
    if not row.succeeded:
        return FAILED
    return UNKNOWN if row.seconds is None else numbers.seconds(row.seconds)
