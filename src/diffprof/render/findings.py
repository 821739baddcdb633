"""Turn findings into text: title, evidence and advice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import Formatter
from typing import TYPE_CHECKING, NamedTuple

from diffprof.findings.finding import Finding, Value
from diffprof.findings.registry import added_text
from diffprof.render import numbers
from diffprof.render.clean import clean
from diffprof.render.finding_words import WORDS

if TYPE_CHECKING:
    from rich.console import Console

MEMORIES = {"device": "on the device", "process": "in the process"}
LONGEST_TEXT = 200

UNITS = {
    "_seconds": numbers.seconds,
    "_bytes": lambda value: numbers.gibibytes(round(value)),
    "_share": numbers.percent_of,
    "_ratio": numbers.percent_of,
}
NOUNS = {
    "asks": "lookup",
    "calls": "call",
    "hits": "hit",
    "iterations": "iteration",
    "moves": "move",
    "operations": "operation",
    "pictures": "image",
    "prompts": "prompt",
    "steps": "denoising step",
}
"""The noun for a count: ``1 call``, ``12 calls``."""


class FindingLines(NamedTuple):
    """One finding, ready to print."""

    title: str
    """One sentence with the numbers that matter most."""
    evidence: str
    advice: str
    python: tuple[str, ...] = ()
    """Lines of Python to copy."""
    command: tuple[str, ...] = ()
    """Options of ``diffprof run`` to copy."""


def finding_lines(finding: Finding) -> FindingLines:
    """Fill in the text of a finding; sentences whose numbers are unknown are left out."""
    text = added_text(finding) or WORDS[finding.rule, finding.case]
    texts = {name: format_evidence(name, value) for name, value in finding.evidence.items() if value is not None}
    return FindingLines(
        text.title.format(**texts),
        "; ".join(sentence.format(**texts) for sentence in _complete_sentences(text.evidence, texts)),
        " ".join(sentence.format(**texts) for sentence in _complete_sentences(text.advice, texts)),
        tuple(line.format(**texts) for line in _complete_sentences(text.python, texts)),
        tuple(line.format(**texts) for line in _complete_sentences(text.command, texts)),
    )


def code_lines(lines: FindingLines) -> list[str]:
    """The code of a finding for a console: Python lines, then options of the command line."""
    return [*(f"  {line}" for line in lines.python), *(f"  diffprof run MODEL {line}" for line in lines.command)]


def print_findings(found: Sequence[Finding], console: Console) -> None:
    """Print the findings as a numbered list, the most important first."""
    from rich.table import Table
    from rich.text import Text

    console.print(Text("Findings" if found else "Findings: nothing stands out.", style="bold"))
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right")
    grid.add_column(overflow="fold")
    for number, finding in enumerate(found, 1):
        lines = finding_lines(finding)
        grid.add_row(Text(f"{number}."), Text(clean(lines.title)))
        for text, style in ((lines.evidence, "dim"), (lines.advice, "")):
            if text:
                grid.add_row("", Text(clean(text), style=style))
        for line in code_lines(lines):
            grid.add_row("", Text(clean(line), style="cyan"))
    if found:
        console.print(grid)


def format_evidence(name: str, value: Value) -> str:
    """Format a value of the evidence, or a threshold, by the unit that its name ends in."""
    if isinstance(value, str):
        return MEMORIES.get(value, value) if name == "memory" else _one_line(value)
    if value is None:
        return "unknown"
    for unit, format_value in UNITS.items():
        if name.endswith(unit):
            return format_value(value)
    return numbers.times(round(value), NOUNS[name]) if name in NOUNS else numbers.exact(round(value))


def _complete_sentences(sentences: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    return [sentence for sentence in sentences if _fields(sentence) <= texts.keys()]


def _fields(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}


def _one_line(text: str) -> str:
    """Shorten a text from outside, such as an error message, to one line."""
    line = " ".join(clean(text).split())
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 3]}..."
