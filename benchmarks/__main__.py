"""``python -m benchmarks [GROUP ...] [--repeats N] [--write]``: measures, prints a table, exits 1 on a missed limit."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from benchmarks.ratios import GROUPS, Result

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], metavar="GROUP", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--repeats", type=int, default=5, help="interleaved runs, of which the median counts")
    parser.add_argument("--write", action="store_true", help="write the results to docs/performance.md")
    options = parser.parse_args()
    results = []
    for group in options.groups or GROUPS:
        for result in GROUPS[group](options.repeats):
            results.append(result)
            sys.stderr.write(f"{_row(result)}\n")
    rows = {result.what: _row(result) for result in results}
    sys.stdout.write(f"{_table(rows, options.repeats)}\n")
    if options.write:
        # What was not measured now stays as it was, unless all of it was.
        _write(_table({**(_written_rows() if options.groups else {}), **rows}, options.repeats))
    return 0 if all(result.kept for result in results) else 1


def _table(rows: Mapping[str, str], repeats: int) -> str:
    machine = f"{os.cpu_count()} CPUs, Python {platform.python_version()}"
    libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "diffusers", "transformers"))
    lines = ["| what | measured | limit | kept | from |", "|---|---|---|---|---|", *rows.values()]
    return "\n".join(
        [*lines, "", f"Medians of {repeats} runs, where the last column says nothing else. {machine}, {libraries}."]
    )


def _row(result: Result) -> str:
    if result.limit is None:
        return f"| {result.what} | {_figure(result.figure)} {result.unit} | - | - | {result.detail} |"
    limit = f"{'at least' if result.at_least else 'at most'} {_figure(result.limit)} {result.unit}"
    kept = "yes" if result.kept else "**no**"
    return f"| {result.what} | {_figure(result.figure)} {result.unit} | {limit} | {kept} | {result.detail} |"


def _figure(number: float) -> str:
    return f"{number:.3g}" if number < 100 else f"{number:,.0f}"


def _written_rows() -> dict[str, str]:
    """The rows of the page, by what they are about."""
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines[1:]}


def _write(table: str) -> None:
    """Put the table between the two marks of the page; what is written around them stays."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else f"# Performance\n\n{BEGIN}\n{END}\n"
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
