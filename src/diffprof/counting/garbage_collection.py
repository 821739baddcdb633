"""Suspends Python's garbage collection during work that creates many objects."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Switch the collector off, and on again if it was.

    When a dry run releases memory must depend on what the pipeline does, not on when the collector happens to run. And
    what importing libraries and building a model makes stays: to look through all of it again and again, as there is
    more and more, takes a sixth of the time of a first count.
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

    What imported libraries have made stays for as long as the process: without this, the next steps of the program
    would pay for looking through it as new, and as not so new.
    """
    if not gc.get_freeze_count():  # what somebody else has frozen stays frozen
        gc.freeze()
        gc.unfreeze()
