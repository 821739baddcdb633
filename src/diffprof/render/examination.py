"""The report of ``diffprof doctor``, as text that can be pasted into an issue."""

from __future__ import annotations

import json

from diffprof.record.examination import Check, Examination
from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown
from diffprof.render.columns import Column
from diffprof.render.csv import table_csv

PROMISES = {
    "equal_images": "Images are those of an unwatched call",
    "counts": "What was counted is what is executed",
    "compiled": "Compiled code is not compiled again",
    "cuda_graphs": "CUDA graphs are replayed as before",
    "foreign_cache": "A cache of another library is counted as it acted",
    "offloaded": "Offloading changes nothing and is seen",
    "autocast": "Autocast is seen",
    "generator": "A generator of the device is accepted and kept as it was",
    "random_state": "Random numbers of the device stay the same",
    "freed": "Memory can be freed after a run",
    "device_times": "Sections are timed on the device",
    "rows": "Memory, and shares of the peak, are read and make sense",
    "layers": "Layers of SDXL stay below the peak",
    "untouched": "A device that is not used is not touched",
    "second_device": "A second device is measured, too",
    "kept_peak": "A program's own reading of its peak memory stays the same",
    "sampling": "The GPU is sampled",
    "snapshot": "Allocations are recorded",
}


def examination_text(examination: Examination) -> str:
    """All checks, then the machine; the first line says how it went."""
    about = [f"    {name}: {value}" for name, value in examination.machine.items()]
    return "\n".join([_verdict(examination), "", *map(_line, examination.checks), "", "Machine", *about, ""])


def examination_json(examination: Examination) -> str:
    """The same for programs."""
    return json.dumps({"machine": examination.machine, "checks": _rows(examination)}, indent=2) + "\n"


def examination_csv(examination: Examination) -> str:
    """The checks as a table."""
    return table_csv(COLUMNS, _rows(examination))


def examination_markdown(examination: Examination) -> str:
    """All checks and the machine, as for an issue."""
    rows = _rows(examination)
    columns = [Column(name, [row[name] for row in rows], justify="left") for name in ("verdict", "promise", "detail")]
    machine = [f"{name}: {value}" for name, value in examination.machine.items()]
    return markdown([Block(title=_verdict(examination), columns=columns), Block(title="Machine", lines=machine)])


COLUMNS = ("check", "verdict", "promise", "detail")


def _rows(examination: Examination) -> list[dict[str, str]]:
    return [
        dict(zip(COLUMNS, (check.name, check.verdict.value, PROMISES[check.name], check.detail), strict=True))
        for check in examination.checks
    ]


def _verdict(examination: Examination) -> str:
    failed = [check for check in examination.checks if check.verdict == "failed"]
    broken = f"{numbers.times(len(failed), 'promise')} {'is' if len(failed) == 1 else 'are'} broken."
    return broken if failed else "Every promise that could be checked holds here."


def _line(check: Check) -> str:
    return f"{check.verdict.value:<8} {PROMISES[check.name]}{f' ({check.detail})' if check.detail else ''}"
