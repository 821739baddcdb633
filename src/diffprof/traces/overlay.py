"""A copy of a trace with events added to it, written without parsing the trace again or holding it in memory."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from diffprof.errors import FileFormatError, RequestError
from diffprof.record.atomic_files import replace_file
from diffprof.traces.reading.columns import RecordedTrace
from diffprof.traces.reading.text import read_bytes


def write_overlay(trace: RecordedTrace, events: Sequence[dict[str, Any]], target: Path) -> Path:
    """Write the file of `trace` to `target` with `events` at the end of its list; gzipped if the name ends in ``.gz``.

    Everything else is copied byte for byte.
    """
    source = Path(trace.path)
    check_overlay_target(source, target)
    data: Iterable[bytes] = _splice(trace, "".join(_join_events(events, trace.events > 0)).encode())
    if target.name.lower().endswith(".gz"):
        data = _compress(data)
    return replace_file(target, data)


def check_overlay_target(trace: Path, target: Path) -> None:
    """Raise a `RequestError` if the overlay would overwrite the trace."""
    if target.exists() and trace.exists() and target.samefile(trace):
        raise RequestError(f"--overlay {target} is the trace itself; name another file.")


def _join_events(events: Sequence[dict[str, Any]], after_others: bool) -> Iterator[str]:
    for number, event in enumerate(events):
        comma = ",\n" if after_others or number else ""
        yield comma + json.dumps(event)


def _splice(trace: RecordedTrace, added: bytes) -> Iterator[bytes]:
    """The bytes of the trace with `added` before the bracket that closes its list of events."""
    left = trace.end_of_events
    for chunk in read_bytes(Path(trace.path)):
        if 0 <= left < len(chunk):
            if chunk[left : left + 1] != b"]":
                raise FileFormatError(f"Cannot read {trace.path}: it changed while it was being read; try again.")
            yield chunk[:left]
            yield added
            yield chunk[left:]
        else:
            yield chunk
        left -= len(chunk)
    if left >= 0:
        raise FileFormatError(f"Cannot read {trace.path}: it changed while it was being read; try again.")


def _compress(data: Iterable[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for piece in data:
        yield compressor.compress(piece)
    yield compressor.flush()
