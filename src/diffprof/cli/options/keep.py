"""The option ``--keep``, which adds the profile of a command to the history."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from diffprof.errors import DiffprofError

if TYPE_CHECKING:
    from diffprof.record.profile import Profile

Keep = Annotated[
    bool | None,
    typer.Option(
        "--keep/--no-keep",
        help="Keep the profile in the history (`diffprof history`); DIFFPROF_KEEP=1 keeps every one.",
        show_default=False,
    ),
]


class KeepProfile(Protocol):
    """A function that adds a profile to the history, with the bytes of the generated image; or does nothing."""

    def __call__(self, profile: Profile, picture: bytes | None = None) -> None: ...


def make_history_writer(keep: bool | None, kind: str, quiet: bool) -> KeepProfile:
    """Create the function that adds a profile to the history, or one that does nothing.

    If the history cannot be written, calling the function raises the error: by then the profile has been printed.
    """
    from diffprof import settings as config

    if not (config.KEEP if keep is None else keep):
        return lambda profile, picture=None: None
    from diffprof.record.history import History

    history = History()
    problem: DiffprofError | None = None
    try:
        history.check_writable()
    except DiffprofError as error:
        problem = error

    def save(profile: Profile, picture: bytes | None = None) -> None:
        if problem is not None:
            raise problem
        run = history.add(profile, kind, picture=picture)
        if not quiet:
            sys.stderr.write(f"Kept as run {run}; `diffprof history show {run}` shows it\n")

    return save
