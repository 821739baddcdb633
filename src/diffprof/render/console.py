"""A profile on the console: one table that a newcomer understands at once, then the totals, then what was assumed."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

from diffprof.record.profile import Profile
from diffprof.render.clean import clean
from diffprof.render.columns import print_table
from diffprof.render.headline import headline, summary
from diffprof.render.views import DEFAULT_DEPTH, By, view_of

if TYPE_CHECKING:
    from rich.console import Console

LABEL_WIDTH = 8
_ASCII = str.maketrans({"·": "-", "ᵀ": "T", "…": "~"})
_SOURCES = {
    "catalogue": "from the catalogue",
    "folder": "from a folder",
    "hub": "from the hub",
    "object": "a live pipeline",
}


def print_profile(
    profile: Profile,
    console: Console,
    by: By = By.component,
    depth: int = DEFAULT_DEPTH,
    verbose: bool = False,
) -> None:
    """Print the profile as the table that was asked for, with what it adds up to below."""
    from rich.text import Text

    view = view_of(profile, by, depth, console.width, console.options.ascii_only, verbose)
    console.print(Text(clean(headline(profile)), style="bold"))
    console.print(Text(clean(composition(profile)), style="dim"))
    console.print()
    if view.columns[0].cells:
        print_table(view, console, total=by is By.component)
    else:
        console.print(Text(f"There is nothing to show by {by.value}."))
    console.print()
    for label, line in summary(profile, verbose):
        print_labelled(console, label, line)


def text(
    profile: Profile,
    width: int = 100,
    by: By = By.component,
    depth: int = DEFAULT_DEPTH,
    verbose: bool = False,
    encoding: str = "utf-8",
) -> str:
    """The same as plain text, without colours, for files and pipes; only with signs that `encoding` has."""
    return as_text(lambda console: print_profile(profile, console, by, depth, verbose), width, encoding)


def as_text(show: Callable[[Console], None], width: int, encoding: str = "utf-8") -> str:
    """What `show` prints, without colours and without spaces at the ends of lines."""
    from rich.console import Console

    # Not the terminal, whatever there is: nothing is detected, the text is the same on every machine.
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    console = Console(file=file, width=width, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as captured:
        show(console)
    shown = captured.get().translate(_ASCII) if console.options.ascii_only else captured.get()
    return "".join(f"{line.rstrip()}\n" for line in shown.splitlines())


def composition(profile: Profile) -> str:
    """The pipeline's class, where it came from and what was switched on."""
    request = profile.request
    switches = [f"scheduler {request.scheduler}"] if request.scheduler else []
    switches += [f"{name} on" for name in request.enable]
    return ", ".join([request.pipeline, _SOURCES.get(request.source, request.source), *switches])


def print_labelled(console: Console, label: str, line: str) -> None:
    """A line with a label in front of it, both wrapped each for itself."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    if console.width < 5 * LABEL_WIDTH:
        console.print(Padding(Text(clean(f"{label}: {line}" if label else line)), 0))
        return
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=LABEL_WIDTH, style="bold")
    grid.add_column(overflow="fold")
    grid.add_row(Text(label), Text(clean(line)))
    console.print(grid)
