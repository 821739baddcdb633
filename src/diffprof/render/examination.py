"""The report of ``diffprof doctor``, as text that can be pasted into an issue."""

from __future__ import annotations

from diffprof.record.examination import Check, Examination
from diffprof.render import numbers

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
    failed = [check for check in examination.checks if check.verdict == "failed"]
    broken = f"{numbers.times(len(failed), 'promise')} {'is' if len(failed) == 1 else 'are'} broken."
    head = broken if failed else "Every promise that could be checked holds here."
    about = [f"    {name}: {value}" for name, value in examination.machine.items()]
    return "\n".join([head, "", *map(_line, examination.checks), "", "Machine", *about, ""])


def _line(check: Check) -> str:
    return f"{check.verdict.value:<8} {PROMISES[check.name]}{f' ({check.detail})' if check.detail else ''}"
