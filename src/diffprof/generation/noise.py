"""Random number generators: the same seed gives the same image."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch

from diffprof.counting.pipeline_state import RandomState

_LOCK = threading.Lock()
_users = 0
_state_before: RandomState | None = None


def new_generator(seed: int) -> torch.Generator:
    """A generator for a pipeline's noise. On the CPU, a seed gives the same noise on every machine."""
    return torch.Generator("cpu").manual_seed(seed)


@contextlib.contextmanager
def torch_seed(seed: int) -> Iterator[None]:
    """Seed torch's global generators, from which some pipelines draw in addition to their own generator.

    The state is global to the process: it is restored when the last of several threads leaves.
    """
    global _users, _state_before
    with _LOCK:
        if _state_before is None:
            _state_before = RandomState({})
        _users += 1
        torch.manual_seed(seed)
    try:
        yield
    finally:
        with _LOCK:
            _users -= 1
            if not _users:
                _state_before.restore()
                _state_before = None
