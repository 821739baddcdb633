"""A line on standard error that says how far long work is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from diffprof.record.progress import Progress as Report


@contextmanager
def progress(quiet: bool) -> Iterator[Report | None]:
    """A line on standard error that says what is going on, where a terminal is there to show it."""
    from rich.console import Console

    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    if quiet or not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    # Gone when it is done: what stays is the result.
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Starting", total=None)

        def report(message: str, done: int | None, total: int | None) -> None:
            bar.update(task, description=message, completed=done or 0, total=total)

        yield report
