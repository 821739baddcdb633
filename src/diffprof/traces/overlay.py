"""A trace written again with events added to it, without holding it in memory."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from diffprof.errors import RequestError
from diffprof.record.atomic_files import replace_file
from diffprof.traces.reading.text import text_of
from diffprof.traces.reading.walk import TraceWalk


def write_overlay(trace: Path, events: Sequence[dict[str, Any]], target: Path) -> Path:
    """Write `trace` to `target` with `events` at the end of its list; compressed when the name ends in ``.gz``.

    Everything else stays as it is, byte for byte.
    """
    if target.exists() and target.samefile(trace):
        raise RequestError(f"--overlay {target} is the trace itself; name another file.")
    pieces: Iterable[bytes] = _with_events(trace, events)
    if target.name.lower().endswith(".gz"):
        pieces = _gzipped(pieces)
    return replace_file(target, pieces)


def _with_events(trace: Path, events: Sequence[dict[str, Any]]) -> Iterator[bytes]:
    walk = TraceWalk(trace)
    has_events = False
    for found in walk.slices():
        has_events = has_events or bool(found)
    assert walk.end_of_events is not None
    left = walk.end_of_events
    for text in text_of(trace):
        if 0 <= left < len(text):
            yield _encoded(text[:left])
            for number, event in enumerate(events):
                comma = ",\n" if has_events or number else ""
                yield _encoded(comma + json.dumps(event))
            yield _encoded(text[left:])
        else:
            yield _encoded(text)
        left -= len(text)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _gzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()
