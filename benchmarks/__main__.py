"""``python -m benchmarks [GROUP ...] [--repeats N] [--write]``: measures, prints a table, exits 1 on a missed limit."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
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
    text = _table(results, options.repeats)
    sys.stdout.write(f"{text}\n")
    if options.write:
        _write(text)
    return 0 if all(result.kept for result in results) else 1


def _table(results: Sequence[Result], repeats: int) -> str:
    machine = f"{os.cpu_count()} CPUs, Python {platform.python_version()}"
    libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "diffusers", "transformers"))
    lines = ["| what | measured | limit | kept | from |", "|---|---|---|---|---|", *map(_row, results)]
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


def _write(table: str) -> None:
    """Put the table between the two marks of the page; what is written around them stays."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else f"# Performance\n\n{BEGIN}\n{END}\n"
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
