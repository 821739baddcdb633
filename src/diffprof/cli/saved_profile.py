"""Loading the saved profile that a user named, for commands that count nothing."""

from __future__ import annotations

from pathlib import Path

from diffprof import catalogue
from diffprof.errors import FileFormatError, FileProblem
from diffprof.record.profile import Profile
from diffprof.record.saved_profiles import load_saved, saved_file


def load_named(name: Path) -> Profile:
    """The saved profile; the error for the name of a model says how to count it."""
    try:
        return load_saved(saved_file(str(name)) or name)
    except FileFormatError as error:
        if error.reason is not FileProblem.missing or catalogue.content(str(name)) is None:
            raise
        message = f"{name} is a model, not a saved profile; count it with `diffprof profile {name}`."
        raise FileFormatError(message) from error
