"""The noise of a generation: the same for the same seed, whoever draws it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch

from diffprof.counting.pipeline_state import RandomState


def generator_of(seed: int) -> torch.Generator:
    """What a pipeline draws its noise from. On the CPU: then it is the same on every machine."""
    return torch.Generator("cpu").manual_seed(seed)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Inside, torch's own random numbers begin with the seed too: some pipelines use them beside their generator.

    Those belong to the whole process. They are put back when the last of several threads leaves.
    """
    global _INSIDE, _BEFORE
    with _LOCK:
        if _BEFORE is None:
            _BEFORE = RandomState({})
        _INSIDE += 1
        torch.manual_seed(seed)
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE -= 1
            if not _INSIDE:
                _BEFORE.restore()
                _BEFORE = None


_LOCK = threading.Lock()
_INSIDE = 0
_BEFORE: RandomState | None = None
