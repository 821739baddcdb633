"""Memory snapshots as a text table, laid out as in the guides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diffprof.render.clean import clean
from diffprof.render.guides.timing_summary import frame_table
from diffprof.render.numbers import mebibytes, shorten

LABEL_WIDTH = 42
VALUE_WIDTH = 12
COLUMNS = {
    "allocated_bytes": "Allocated",
    "reserved_bytes": "Reserved",
    "max_allocated_bytes": "Max Alloc",
    "rss_bytes": "RSS",
    "peak_rss_bytes": "Peak RSS",
}


def memory_summary(log: Mapping[str, Any]) -> str:
    """A table of the snapshots and the findings; columns without any value are left out."""
    snapshots = log["snapshots"]
    keys = [key for key in COLUMNS if any(key in snapshot for snapshot in snapshots)]
    heading = [_row("Label", [COLUMNS[key] for key in keys])]
    rows = [_row(clean(snapshot["label"]), [_value(snapshot, key) for key in keys]) for snapshot in snapshots]
    notes = ["M is 1,048,576 bytes.", *(finding_sentence(finding) for finding in log["findings"])]
    return frame_table("MEMORY USAGE SUMMARY", heading, rows or ["no snapshot was taken"], notes if rows else [])


def finding_sentence(finding: Mapping[str, Any]) -> str:
    """A finding about memory as a sentence, with its evidence and advice."""
    evidence = {name: mebibytes(number) for name, number in finding["evidence"].items()}
    names = {"label": clean(finding["label"]), "before": clean(finding.get("before") or "")}
    where = "on the device" if finding["memory"] == "device" else "in the process"
    return SENTENCES[finding["kind"]].format(**names, **evidence, where=where)


SENTENCES = {
    "fragmentation": (
        "Fragmentation at {label}: {reserved_bytes} reserved, though at most {most_allocated_bytes} were ever "
        "allocated; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True may help."
    ),
    "held_in_reserve": (
        "Held in reserve at {label}: {reserved_bytes} reserved for {allocated_bytes} allocated, left over from an "
        "earlier peak; torch.cuda.empty_cache() releases it."
    ),
    "unreleased_memory": (
        "Not freed: {label} holds {growth_bytes} more {where} than {before}; check that this is intended."
    ),
    "grows": "{label} holds more {where} each time: from {before_bytes} to {after_bytes}.",
}


def _row(label: str, values: Sequence[str]) -> str:
    cells = "".join(f" {value:>{VALUE_WIDTH}}" for value in values)
    return f"{shorten(label, LABEL_WIDTH):<{LABEL_WIDTH}}{cells}".rstrip()


def _value(snapshot: Mapping[str, Any], key: str) -> str:
    return mebibytes(snapshot[key]) if key in snapshot else "-"
