"""``--keep``: put the profile that a command made into the history."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

if TYPE_CHECKING:
    from diffprof.record.profile import Profile

Keep = Annotated[
    bool | None,
    typer.Option(
        "--keep/--no-keep",
        help="Put it into the history (`diffprof history`); always where DIFFPROF_KEEP is 1.",
        show_default=False,
    ),
]


class Put(Protocol):
    """Puts a profile into the history, with the encoded picture that it made; or does nothing."""

    def __call__(self, profile: Profile, picture: bytes | None = None) -> None: ...


def keeper(keep: bool | None, kind: str, quiet: bool) -> Put:
    """What to call with the profile when it is there. A history that cannot be written is complained about now."""
    from diffprof import settings as config

    if not (config.KEEP if keep is None else keep):
        return lambda profile, picture=None: None
    from diffprof.record.history import History

    history = History()
    history.check_writable()

    def put(profile: Profile, picture: bytes | None = None) -> None:
        run = history.add(profile, kind, picture=picture)
        if not quiet:
            sys.stderr.write(f"KeptRun as run {run}; `diffprof history show {run}` shows it\n")

    return put
