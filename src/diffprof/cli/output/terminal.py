"""Standard output: a console for people, plain text for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


WIDTH_WITHOUT_TERMINAL = 120


def console() -> Console:
    """The console for standard output: as wide as the terminal; no colours without one, or where NO_COLOR is set."""
    from rich.console import Console

    # The terminal that the command was typed in says nothing about a file or a pipe.
    free = not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdigit()
    return Console(markup=False, emoji=False, highlight=False, width=WIDTH_WITHOUT_TERMINAL if free else None)


def write_rendered(show: Callable[[Console], None]) -> None:
    """What `show` prints, on standard output; where that is no terminal, without the spaces that fill up lines."""
    shown = console()
    if shown.is_terminal:
        show(shown)
        return
    with shown.capture() as captured:
        show(shown)
    write_text("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def write_text(text: str) -> None:
    """Text on standard output, as it is."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def print_written(target: object, quiet: bool = False) -> None:
    """Say on standard error what was written, unless nothing but errors should be printed."""
    if not quiet:
        sys.stderr.write(f"Wrote {target}\n")


def print_progress(what: str, quiet: bool = False) -> None:
    """Say on standard error what is going on, for work without a known length."""
    if not quiet:
        sys.stderr.write(f"{what}\n")
