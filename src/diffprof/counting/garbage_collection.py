"""Suspend Python's garbage collection during work that creates many objects."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable the garbage collector in the block; afterwards enable it if it was enabled before.

    When a dry run frees memory must depend on the pipeline, not on the collector. Objects of imported libraries and of
    the model stay alive, and scanning them repeatedly takes a sixth of the time of a first count.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def freeze_existing_objects() -> None:
    """Move all existing objects to the collector's oldest generation, which it seldom scans.

    Objects of imported libraries live as long as the process. Otherwise the program's next steps would pay for scanning
    them in the younger generations.
    """
    if not gc.get_freeze_count():  # what the program has frozen stays frozen
        gc.freeze()
        gc.unfreeze()
