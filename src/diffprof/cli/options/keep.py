"""``--keep``: put the profile of a command into the history."""

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
    """Puts a profile into the history, with the encoded image of its generation; or does nothing."""

    def __call__(self, profile: Profile, picture: bytes | None = None) -> None: ...


def make_history_writer(keep: bool | None, kind: str, quiet: bool) -> KeepProfile:
    """The function to call with the profile later.

    That a history cannot be written is an error only when the profile has been shown.
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
