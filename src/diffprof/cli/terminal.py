"""Standard output: a console for people, plain text for programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def console() -> Console:
    """The console for standard output: as wide as the terminal; no colours without one, or where NO_COLOR is set."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)


def write_text(text: str) -> None:
    """Text on standard output, as it is."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
