"""The outcome of a gate as text, Markdown, JUnit XML and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from diffprof.comparison.compare import Pair
from diffprof.comparison.counts import BYTES
from diffprof.comparison.gate import FAILED, PASSED, PREDICTED, TOO_NOISY, Gate, GateCheck, GateLimit
from diffprof.comparison.times import TOO_BUSY, TOO_FEW
from diffprof.comparison.views.data import count_values, time_values
from diffprof.comparison.views.sentences import change_of_time, condition_text, interval_text, warning_lines
from diffprof.comparison.views.tables import amount, change_text
from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown, print_blocks
from diffprof.render.clean import clean
from diffprof.render.columns import Column
from diffprof.render.console import render_text
from diffprof.render.warnings import profile_warnings

if TYPE_CHECKING:
    from rich.console import Console

TEXT_WIDTH = 100
FORMAT_NAME = "diffprof-gate"

# 1: the first; docs/gate.schema.json describes it.
FORMAT_VERSION = 1

_HEADLINES = {
    PASSED: "Passed: every limit is kept.",
    FAILED: "Failed: a limit is exceeded.",
    TOO_NOISY: "Too noisy to tell: no limit is certainly exceeded, but not all are certainly kept.",
}


def print_gate(gate: Gate, pair: Pair, names: Sequence[str], console: Console) -> None:
    """Print the outcome, then each limit."""
    print_blocks(_blocks(gate, pair, names), console)


def gate_markdown(gate: Gate, pair: Pair, names: Sequence[str]) -> str:
    """The outcome and each limit as Markdown, for a pull request."""
    return markdown(_blocks(gate, pair, names))


def gate_file(ending: str, gate: Gate, pair: Pair, names: Sequence[str]) -> str:
    """The outcome in the format for a file's ending."""
    return {
        ".md": lambda: gate_markdown(gate, pair, names),
        ".json": lambda: gate_json(gate, pair, names),
        ".txt": lambda: render_text(lambda console: print_gate(gate, pair, names, console), TEXT_WIDTH),
        ".xml": lambda: gate_junit(gate, names),
    }[ending]()


def gate_json(gate: Gate, pair: Pair, names: Sequence[str]) -> str:
    """The outcome and each limit, with their numbers, as JSON."""
    values = {
        "format": {"name": FORMAT_NAME, "version": FORMAT_VERSION},
        "baseline": names[0],
        "candidate": names[1],
        "outcome": gate.outcome,
        "exit_code": gate.exit_code,
        "conditions": [vars(condition) for condition in pair.conditions],
        "warnings": dict(zip(("baseline", "candidate"), map(profile_warnings, pair.profiles), strict=True)),
        "checks": [_check_values(check) for check in gate.checks],
    }
    return json.dumps(values, indent=1, allow_nan=False) + "\n"


def gate_junit(gate: Gate, names: Sequence[str]) -> str:
    """The limits as JUnit test cases; those that are too noisy to tell are skipped."""
    counts = {outcome: sum(check.outcome == outcome for check in gate.checks) for outcome in (FAILED, TOO_NOISY)}
    suite = ElementTree.Element(
        "testsuite",
        name="diffprof gate",
        tests=str(len(gate.checks)),
        failures=str(counts[FAILED]),
        skipped=str(counts[TOO_NOISY]),
        errors="0",
    )
    for check in gate.checks:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"diffprof.gate.{_xml(names[1])}", name=_xml(check.limit.name)
        )
        if check.outcome != PASSED:
            tag = "failure" if check.outcome == FAILED else "skipped"
            ElementTree.SubElement(case, tag, message=_xml(describe_check(check)))
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'


def _xml(text: str) -> str:
    # XML cannot contain a lone surrogate, which a file name may have.
    return clean(text).encode("utf-8", "replace").decode()


def describe_check(check: GateCheck) -> str:
    """``macs: 804.26 G, now 904.26 G (+12.4 %), limit +0 %: failed``"""
    before, after, change = _values(check)
    reason = f" ({_reason(check)})" if check.outcome == TOO_NOISY else ""
    limit = f"limit {_limit_text(check.limit)}"
    return f"{check.limit.name}: {before}, now {after} ({change}), {limit}: {check.outcome}{reason}"


def _blocks(gate: Gate, pair: Pair, names: Sequence[str]) -> list[Block]:
    rows = [_values(check) for check in gate.checks]
    columns = [
        Column("limit on", [check.limit.name for check in gate.checks], justify="left", least=12),
        Column("baseline", [row[0] for row in rows]),
        Column("candidate", [row[1] for row in rows]),
        Column("change", [row[2] for row in rows]),
        Column("interval", [interval_text(check.time) if check.time else "" for check in gate.checks], rank=1),
        Column("at most", [_limit_text(check.limit) for check in gate.checks]),
        Column("outcome", [check.outcome for check in gate.checks], justify="left", least=10),
    ]
    noisy = [f"{check.limit.name}: {_reason(check)}." for check in gate.checks if check.outcome == TOO_NOISY]
    differs = [condition_text(condition) for condition in pair.conditions]
    blocks = [
        Block(
            _HEADLINES[gate.outcome],
            [f"{names[1]} against the baseline {names[0]}", *warning_lines(names, pair.profiles)],
        ),
        Block(columns=columns, after=noisy),
    ]
    return [blocks[0], Block("What else differs", differs), blocks[1]] if differs else blocks


def _values(check: GateCheck) -> tuple[str, str, str]:
    if check.figure is not None:
        figure = check.figure
        return amount(figure.name, figure.before), amount(figure.name, figure.after), change_text(figure)
    time = check.time
    assert time is not None and time.before is not None and time.after is not None, (
        "limits on times are checked only if both profiles have them"
    )
    sides = [numbers.nanoseconds(side.median_ns) for side in (time.before, time.after)]
    return sides[0], sides[1], change_of_time(time)


def _reason(check: GateCheck) -> str:
    """Why the outcome is uncertain, and what helps."""
    time = check.time
    assert time is not None and time.before is not None and time.after is not None, "only times are noisy"
    if time.verdict == TOO_FEW:
        return f"{time.before.count} and {time.after.count} samples are too few; measure with 20 iterations or more"
    if time.verdict == TOO_BUSY:
        return "other processes used the CPU; measure on a quieter machine, or both in turns"
    return "the limit is within the interval; measure more iterations, or on a quieter machine"


def _limit_text(limit: GateLimit) -> str:
    if limit.relative:
        return f"{100 * limit.amount:+g} %"
    number = round(limit.amount)
    is_short = limit.figure in BYTES or limit.figure in PREDICTED
    text = amount(limit.figure, abs(number) if number < 0 else number) if is_short else numbers.exact(number)
    if number < 0 and is_short:
        text = f"-{text}"
    return text if number < 0 or limit.ceiling else f"+{text}"


def _check_values(check: GateCheck) -> dict[str, Any]:
    return {
        "limit": {**vars(check.limit), "name": check.limit.name},
        "outcome": check.outcome,
        "figure": count_values(check.figure) if check.figure else None,
        "time": time_values(check.time) if check.time else None,
        "sentence": describe_check(check),
    }
