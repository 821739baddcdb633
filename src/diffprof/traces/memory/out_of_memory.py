"""Write an explanation next to the memory snapshot of a GPU that ran out of memory."""

from __future__ import annotations

import contextlib
from pathlib import Path

from diffprof.errors import DiffprofError
from diffprof.record.atomic_files import replace_file
from diffprof.render.console import render_text
from diffprof.traces.memory.explain import explain_snapshot
from diffprof.traces.memory.views import print_snapshot

ENDING = ".txt"
WIDTH, TOP = 100, 15


def explained_files(snapshot: Path | None) -> list[Path]:
    """The snapshot and, if it can be written, its explanation. Errors here are suppressed, not to hide another."""
    if snapshot is None:
        return []
    files = [snapshot]
    with contextlib.suppress(DiffprofError, OSError):
        files.append(write_explanation(snapshot))
    return files


def write_explanation(snapshot: Path) -> Path:
    """Write the output of `diffprof memory` for a snapshot next to it."""
    devices = explain_snapshot(snapshot)
    text = render_text(lambda console: print_snapshot(devices, console, TOP), WIDTH, "utf-8")
    return replace_file(snapshot.with_suffix(ENDING), text.encode("utf-8", "backslashreplace"))
