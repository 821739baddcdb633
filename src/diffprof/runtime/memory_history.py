"""Records where memory of the GPU is allocated, and writes a snapshot of it: when asked to, or when it ran out."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from diffprof.errors import DiffprofError, OutOfMemoryError, RequestError
from diffprof.record.atomic_files import replace_file

FILE = "memory_snapshot.pickle"
MOST_EVENTS = 200_000
"""Allocations and releases that are kept, the latest ones: a few hundred bytes each."""


@contextlib.contextmanager
def memory_snapshot(folder: Path, requested: bool) -> Iterator[None]:
    """Write a snapshot into the folder at the end, with the history of what ran inside.

    Where none was requested, one is written only if memory runs out, and without a history.
    """
    memory: Any = torch.cuda.memory
    if requested and not torch.cuda.is_available():
        raise RequestError("--memory-snapshot needs a CUDA or ROCm device: it is of torch.cuda's allocator.")
    if requested:
        memory._record_memory_history(max_entries=MOST_EVENTS)
    try:
        yield
    except OutOfMemoryError as error:
        error.snapshot = snapshot_of_failure(folder)
        raise
    else:
        if requested:
            write_snapshot(folder)
    finally:
        if requested:
            memory._record_memory_history(enabled=None)


def snapshot_of_failure(folder: Path) -> Path | None:
    """Write a snapshot where memory ran out, while the error keeps alive what was computed; None where it cannot be."""
    if not torch.cuda.is_initialized():
        return None
    with contextlib.suppress(DiffprofError, RuntimeError, OSError):  # the error itself is what matters
        return write_snapshot(folder)
    return None


def write_snapshot(folder: Path) -> Path:
    """Write what the allocator holds, and what it has recorded."""
    path = folder / FILE
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(path, pickle.dumps(torch.cuda.memory._snapshot()))
    return path
