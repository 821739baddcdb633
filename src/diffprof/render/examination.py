"""The result of ``diffprof doctor``, as text that can be pasted into an issue."""

from __future__ import annotations

import json

from diffprof.record.examination import Check, Examination
from diffprof.render import numbers
from diffprof.render.blocks import Block, markdown
from diffprof.render.columns import Column
from diffprof.render.csv import table_csv

PROMISES = {
    "equal_images": "Measuring does not change the images",
    "counts": "The counts equal what is executed",
    "compiled": "Measuring does not recompile compiled code",
    "cuda_graphs": "CUDA graphs are still replayed",
    "foreign_cache": "Calls that another library's cache skips are not counted",
    "offloaded": "Offloading still works, and is recorded",
    "autocast": "Autocast is recorded",
    "generator": "A generator on the device is accepted, and its state is kept",
    "random_state": "The device's random state is kept",
    "freed": "Memory can be freed after a run",
    "device_times": "Sections are timed on the device",
    "rows": "Memory and shares of the peak are plausible",
    "layers": "SDXL-shaped layers stay below the peak",
    "untouched": "Unused devices are not touched",
    "second_device": "A second device is measured too",
    "kept_peak": "The program's own peak memory statistics are kept",
    "sampling": "The GPU is sampled",
    "snapshot": "Allocations are recorded",
}


def examination_text(examination: Examination) -> str:
    """The verdict, all checks, and the machine, as text."""
    about = [f"    {name}: {value}" for name, value in examination.machine.items()]
    return "\n".join([_verdict(examination), "", *map(_line, examination.checks), "", "Machine", *about, ""])


def examination_json(examination: Examination) -> str:
    """The checks and the machine as JSON."""
    return json.dumps({"machine": examination.machine, "checks": _rows(examination)}, indent=2) + "\n"


def examination_csv(examination: Examination) -> str:
    """The checks as CSV."""
    return table_csv(COLUMNS, _rows(examination))


def examination_markdown(examination: Examination) -> str:
    """The verdict, all checks, and the machine, as Markdown for an issue."""
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
    return f"{numbers.times(len(failed), 'check')} failed." if failed else "Every check that could be made passed."


def _line(check: Check) -> str:
    return f"{check.verdict.value:<8} {PROMISES[check.name]}{f' ({check.detail})' if check.detail else ''}"
