"""The catalogue of accelerators as tables, JSON, CSV and Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from diffprof.catalogue.accelerators import DTYPES, Accelerator
from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown, print_blocks
from diffprof.render.clean import clean
from diffprof.render.columns import Column
from diffprof.render.csv import table_csv

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = (
    "name",
    "maker",
    "architecture",
    "multiprocessors",
    "memory_bytes",
    "bandwidth_bytes_per_second",
    "l2_cache_bytes",
    "board_power_watts",
    "host_link",
    "host_link_bytes_per_second",
    *(f"{dtype}_flops_per_second" for dtype in DTYPES),
    "source",
)

NOT_KNOWN = "not published or not confirmed"
MEANING = "Peaks are dense, at the boost clock; 16-bit and 8-bit products accumulate in float32"


def print_accelerators(entries: Sequence[Accelerator], console: Console) -> None:
    """Print the list of accelerators as a table."""
    print_blocks(accelerator_blocks(entries), console)


def accelerators_markdown(entries: Sequence[Accelerator]) -> str:
    """The list of accelerators as Markdown."""
    return markdown(accelerator_blocks(entries))


def accelerator_blocks(entries: Sequence[Accelerator]) -> list[Block]:
    """A row for each accelerator, and what its numbers mean."""
    columns = [
        Column("name", [entry.name for entry in entries], justify="left", style="bold"),
        Column("memory", [_gibibytes(entry.memory_bytes) for entry in entries], rank=1),
        Column("bandwidth", [_gigabytes_per_second(entry.bandwidth_bytes_per_second) for entry in entries], rank=2),
        *(
            Column(dtype, [_tera(entry.peak_flops_per_second.get(dtype)) for entry in entries], rank=rank)
            for dtype, rank in (
                ("float32", 5),
                ("tf32", 7),
                ("bfloat16", 3),
                ("float16", 6),
                ("float8", 4),
                ("int8", 8),
            )
        ),
        Column("power", [_watts(entry) or "" for entry in entries], rank=9),
        Column("architecture", [entry.architecture for entry in entries], rank=10, justify="left", style="dim"),
    ]
    return [Block(columns=columns), Block(lines=[f"{MEANING}; TFLOP/s, and TOP/s for int8."])]


def accelerators_json(entries: Sequence[Accelerator]) -> str:
    """The list of accelerators as JSON."""
    return json.dumps([_values(entry) for entry in entries], indent=2) + "\n"


def accelerators_csv(entries: Sequence[Accelerator]) -> str:
    """The list of accelerators as CSV, with a column for the peak in each dtype."""
    rows = []
    for entry in entries:
        peaks = {f"{dtype}_flops_per_second": entry.peak_flops_per_second.get(dtype) for dtype in DTYPES}
        rows.append({**_values(entry), **peaks})
    return table_csv(COLUMNS, rows)


def accelerator_json(entry: Accelerator) -> str:
    """Everything the catalogue has about an accelerator, as JSON."""
    from diffprof.render.achieved_rates import rate_values

    return json.dumps({**_values(entry), "reached": rate_values(entry)}, indent=2) + "\n"


def accelerator_csv(entry: Accelerator) -> str:
    """Everything the catalogue has about an accelerator, as CSV: each number with its unit and source."""
    columns = ("number", "value", "source")
    return table_csv(columns, [dict(zip(columns, row, strict=True)) for row in _all_numbers(entry)])


def accelerator_markdown(entry: Accelerator) -> str:
    """Everything the catalogue has about an accelerator, as a Markdown table."""
    names, values, sources = zip(*_all_numbers(entry), strict=True)
    columns = [
        Column("number", list(names), justify="left"),
        Column("value", list(values), justify="left"),
        Column("source", list(sources), justify="left"),
    ]
    title = f"{entry.name}: {entry.maker}, {entry.architecture} architecture"
    return markdown([Block(title=title, columns=columns, after=[f"{MEANING}."])])


def _all_numbers(entry: Accelerator) -> list[tuple[str, str, str]]:
    """Name, value and source of each number: published ones first, then those that predictions use."""
    from diffprof.render.achieved_rates import rate_lines

    published = [(name, value, source) if value else (name, "", NOT_KNOWN) for name, value, source in _numbers(entry)]
    return [*published, *rate_lines(entry)]


def print_accelerator(entry: Accelerator, console: Console) -> None:
    """Print everything the catalogue has about an accelerator: each number with its unit and source."""
    _print_line(console, f"{entry.name}: {entry.maker}, {entry.architecture} architecture", style="bold")
    if entry.reported_names:
        _print_line(console, f"torch reports {' or '.join(entry.reported_names)}")
    if entry.aliases:
        _print_line(console, f"also {', '.join(entry.aliases)}")
    console.print()
    rows = list(_numbers(entry))
    names = max(len(name) for name, _, _ in rows)
    values = max(len(value) for _, value, _ in rows if value)
    for name, value, source in rows:
        known = f"{value:{values}}  {source}" if value else NOT_KNOWN
        _print_line(console, f"{name:{names}}  {known}", style="" if value else "dim")
    console.print()
    _print_line(console, f"{MEANING}.", style="dim")
    _print_rates(entry, console)


def _print_rates(entry: Accelerator, console: Console) -> None:
    """Print the rates that predictions assume, and the numbers of the time model that they follow from."""
    from diffprof.render.achieved_rates import rate_lines

    console.print()
    _print_line(console, "Achieved rates that predictions assume", style="bold")
    lines = rate_lines(entry)
    names, values = max(len(line.name) for line in lines), max(len(line.value) for line in lines)
    for line in lines:
        _print_line(console, f"{line.name:{names}}  {line.value:{values}}  {line.source}")


def _numbers(entry: Accelerator) -> Iterator[tuple[str, str | None, str]]:
    """Name, value with unit, and source of each published number; the value is None if it is not known."""
    for dtype in DTYPES:
        peak = entry.peak_flops_per_second.get(dtype)
        unit = "TOP/s" if dtype == "int8" else "TFLOP/s"
        yield f"peak in {dtype}", f"{_tera(peak)} {unit}" if peak else None, entry.source_of(dtype)
    link = entry.host_link_bytes_per_second
    for name, field, value in (
        ("memory", "memory_bytes", _gibibytes(entry.memory_bytes)),
        ("bandwidth", "bandwidth_bytes_per_second", _gigabytes_per_second(entry.bandwidth_bytes_per_second)),
        ("L2 cache", "l2_cache_bytes", f"{entry.l2_cache_bytes / 2**20:g} MiB" if entry.l2_cache_bytes else None),
        ("multiprocessors", "multiprocessors", numbers.exact(entry.multiprocessors) if entry.multiprocessors else None),
        ("board power", "board_power_watts", _watts(entry)),
        ("host link", "host_link", f"{entry.host_link}, {_gigabytes_per_second(link)} each way" if link else None),
    ):
        yield name, value, entry.source_of(field)


def _values(entry: Accelerator) -> dict[str, Any]:
    return {
        "name": entry.name,
        "aliases": list(entry.aliases),
        "reported_names": list(entry.reported_names),
        "maker": entry.maker,
        "architecture": entry.architecture,
        "multiprocessors": entry.multiprocessors,
        "memory_bytes": entry.memory_bytes,
        "bandwidth_bytes_per_second": entry.bandwidth_bytes_per_second,
        "l2_cache_bytes": entry.l2_cache_bytes,
        "board_power_watts": entry.board_power_watts,
        "host_link": entry.host_link,
        "host_link_bytes_per_second": entry.host_link_bytes_per_second,
        "peak_flops_per_second": dict(entry.peak_flops_per_second),
        "measured": dict(entry.measured),
        "source": entry.source,
        "sources": dict(entry.sources),
    }


def _tera(rate: float | None) -> str:
    return f"{rate / 1e12:,.6g}" if rate else ""


def _gibibytes(number: int) -> str:
    return f"{number / 2**30:g} GiB"


def _gigabytes_per_second(rate: float) -> str:
    return f"{rate / 1e9:,.4g} GB/s" if rate < 1e12 else f"{rate / 1e9:,.0f} GB/s"


def _watts(entry: Accelerator) -> str | None:
    return f"{entry.board_power_watts:g} W" if entry.board_power_watts else None


def _print_line(console: Console, text: str, style: str = "") -> None:
    from rich.text import Text

    # Not wrapped: a source that spans two lines cannot be searched for.
    console.print(Text(clean(text), style=style), soft_wrap=True)
