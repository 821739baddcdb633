"""The models of the catalogue as tables, JSON, CSV and Markdown."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diffprof.catalogue import Entry, Part
from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown, print_blocks
from diffprof.render.clean import clean
from diffprof.render.columns import Column
from diffprof.render.csv import table_csv

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = (
    *(
        "name",
        "title",
        "family",
        "task",
        "year",
        "licence",
        "unconfirmed_facts",
        "unconfirmed_counts",
        "media",
        "pipeline",
    ),
    *("denoiser", "denoiser_parameters", "parameters", "dtype", "hub_id"),
)

BUNDLED = "comes with diffprof"
UNCONFIRMED = "Years and licences are unconfirmed unless `diffprof models show NAME` says otherwise."


def print_models(entries: Sequence[Entry], console: Console) -> None:
    """Print the list of models as a table."""
    print_blocks([models_block(entries)], console)


def models_markdown(entries: Sequence[Entry]) -> str:
    """The list of models as Markdown."""
    return markdown([models_block(entries)])


def models_block(entries: Sequence[Entry]) -> Block:
    """A row for each model."""
    columns = [
        Column("name", [entry.name for entry in entries], justify="left", style="bold"),
        Column("title", [entry.title for entry in entries], rank=6, justify="left"),
        Column("task", [entry.task or entry.media for entry in entries], rank=3, justify="left"),
        Column("year", [str(entry.year or "-") for entry in entries], rank=4),
        Column("licence", [entry.licence or "-" for entry in entries], rank=5, justify="left"),
        Column("denoiser", [numbers.parameters(_denoiser(entry)) for entry in entries], rank=1),
        Column("all parameters", [numbers.parameters(entry.parameters) for entry in entries], rank=2),
        Column("pipeline", [entry.pipeline for entry in entries], rank=8, justify="left", style="dim"),
        Column("hub id", [_place(entry) for entry in entries], rank=7, justify="left", style="dim"),
    ]
    unconfirmed = any(entry.unconfirmed_facts for entry in entries)
    return Block(columns=columns, after=[UNCONFIRMED] if unconfirmed else [])


def models_json(entries: Sequence[Entry]) -> str:
    """The list of models as JSON."""
    return json.dumps([_summary(entry) for entry in entries], indent=2) + "\n"


def models_csv(entries: Sequence[Entry]) -> str:
    """The list of models as CSV."""
    return table_csv(COLUMNS, [_summary(entry) for entry in entries])


def model_json(entry: Entry) -> str:
    """Everything the catalogue has about a model, as JSON."""
    marks = {"unconfirmed_facts": entry.unconfirmed_facts, "unconfirmed_counts": entry.unconfirmed_counts}
    return json.dumps({**dataclasses.asdict(entry), **marks}, indent=2) + "\n"


PART_COLUMNS = ("component", "class", "library", "parameters", "buffers", "published", "source")


def model_csv(entry: Entry) -> str:
    """The components of a model as CSV."""
    return table_csv(PART_COLUMNS, _part_rows(entry))


def model_markdown(entry: Entry) -> str:
    """A model and its components as Markdown."""
    rows = _part_rows(entry)
    columns = [
        Column(
            name,
            [_cell(row[name]) for row in rows],
            justify="right" if name in ("parameters", "buffers") else "left",
        )
        for name in PART_COLUMNS
    ]
    return markdown([Block(title=f"{entry.title} ({entry.name})", lines=_facts(entry), columns=columns)])


def _part_rows(entry: Entry) -> list[dict[str, Any]]:
    return [
        {
            "component": part.slot,
            "class": part.class_name,
            "library": part.library,
            "parameters": part.parameters,
            "buffers": part.buffers,
            "published": part.published,
            "source": part.source,
        }
        for part in entry.components.values()
    ]


def _cell(value: Any) -> str:
    return "" if value is None else numbers.exact(value) if isinstance(value, int) else str(value)


def _facts(entry: Entry) -> list[str]:
    """Lines about a model: its pipeline, family, licence, and where it comes from."""
    place = f"hub id {entry.hub_id}" if entry.hub_id else _place(entry)
    about = [entry.family and f"family {entry.family}", entry.task, entry.year and str(entry.year), entry.licence]
    size = numbers.parameters(entry.parameters)
    lines = [f"{entry.pipeline}, {entry.media}, {entry.dtype}, {size} parameters"]
    if any(about):
        lines.append(", ".join(text for text in about if text))
    return [*lines, place + (f"; also {', '.join(entry.aliases)}" if entry.aliases else "")]


def print_model(entry: Entry, console: Console) -> None:
    """Print everything the catalogue has about a model."""
    _line(console, f"{entry.title} ({entry.name})", style="bold")
    for text in _facts(entry):
        _line(console, text)
    _line(console, f"from {entry.source}", style="dim")
    for title, values in (
        ("Pipeline", entry.pipeline_config),
        ("Call", entry.call),
        ("Recommended", entry.recommended),
    ):
        if values:
            _line(console, f"{title}: {_values(values)}")
    if entry.inputs:
        _line(console, f"Inputs: {', '.join(entry.inputs)}")
    if entry.recommended_source:
        _line(console, f"recommended by {entry.recommended_source}", style="dim")
    for part in entry.components.values():
        _print_part(part, console)
    console.print()
    remarks = [*entry.unconfirmed]
    if entry.unconfirmed_facts:
        remarks.append(f"{' and '.join(entry.unconfirmed_facts)}: no published file was available; see the model card")
    if entry.unconfirmed_counts:
        slots = ", ".join(entry.unconfirmed_counts)
        remarks.append(
            f"parameters of {slots}: counted from the configuration; no published count was available to compare with"
        )
    if not remarks:
        _line(console, "Unconfirmed: nothing.")
    for number, remark in enumerate(remarks):
        _line(console, f"Unconfirmed {number + 1}: {remark}", style="yellow")


def _print_part(part: Part, console: Console) -> None:
    console.print()
    _line(console, f"{part.slot}: {part.class_name} of {part.library}", style="bold")
    if part.parameters is not None:
        buffers = f", and {numbers.exact(part.buffers)} elements of persistent buffers" if part.buffers else ""
        _line(console, f"{numbers.exact(part.parameters)} parameters{buffers}", indent=2)
    if part.published:
        _line(console, f"published: {part.published}", indent=2)
    if part.tokenizer:
        facts = part.tokenizer
        # transformers writes "no limit" as a length of 10^30 or so.
        limited = facts.model_max_length < 10**9
        length = f"at most {numbers.exact(facts.model_max_length)} tokens" if limited else "any number of tokens"
        _line(console, f"{length}, {numbers.exact(facts.vocab_size)} words, padding {facts.padding_side}", indent=2)
    for key, value in part.config.items():
        _line(console, f"{key} = {_value(value)}", indent=2)
    if part.source:
        _line(console, f"from {part.source}", indent=2, style="dim")


def _line(console: Console, text: str, indent: int = 0, style: str = "") -> None:
    from rich.padding import Padding
    from rich.text import Text

    if console.is_terminal:
        console.print(Padding(Text(clean(text), style=style), (0, 0, 0, indent), expand=False))
    else:
        # Not wrapped, so that programs find file names in one piece.
        console.print(Text(" " * indent + clean(text)), soft_wrap=True)


def _summary(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "family": entry.family,
        "task": entry.task,
        "year": entry.year,
        "licence": entry.licence,
        "unconfirmed_facts": " ".join(entry.unconfirmed_facts),
        "unconfirmed_counts": " ".join(entry.unconfirmed_counts),
        "media": entry.media,
        "pipeline": entry.pipeline,
        "denoiser": entry.denoiser.slot if entry.denoiser else None,
        "denoiser_parameters": _denoiser(entry),
        "parameters": entry.parameters,
        "dtype": entry.dtype,
        "hub_id": entry.hub_id,
    }


def _place(entry: Entry) -> str:
    return entry.hub_id or entry.path or BUNDLED


def _denoiser(entry: Entry) -> int:
    return (entry.denoiser.parameters or 0) if entry.denoiser else 0


def _values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {_value(value)}" for key, value in values.items())


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
