"""Print to standard output and standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


WIDTH_WITHOUT_TERMINAL = 120


def console() -> Console:
    """A rich console for standard output; without colours if that is not a terminal, or if NO_COLOR is set."""
    from rich.console import Console

    # rich would use the width of the shell's terminal, which does not matter for a file or a pipe.
    is_redirected = not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdigit()
    return Console(markup=False, emoji=False, highlight=False, width=WIDTH_WITHOUT_TERMINAL if is_redirected else None)


def write_rendered(show: Callable[[Console], None]) -> None:
    """Call `show` with a console for standard output; without a terminal, trailing spaces are removed."""
    target = console()
    if target.is_terminal:
        show(target)
        return
    with target.capture() as captured:
        show(target)
    write_text("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def write_text(text: str) -> None:
    """Write text to standard output, escaping characters that its encoding lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def print_written(target: object, quiet: bool = False) -> None:
    """Print the name of a file that was written, on standard error."""
    if not quiet:
        sys.stderr.write(f"Wrote {target}\n")


def print_progress(what: str, quiet: bool = False) -> None:
    """Print a progress message on standard error, for work without a progress bar."""
    if not quiet:
        sys.stderr.write(f"{what}\n")
