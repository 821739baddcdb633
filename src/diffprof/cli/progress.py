"""A progress bar on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from diffprof.record.progress import Progress, ProgressEvent


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Progress | None]:
    """Show on standard error what is going on; None where no terminal is there to show it."""
    from rich.console import Console

    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    if quiet or not console.is_terminal:
        yield None
        return
    from rich import progress as rich_progress

    from diffprof.render.progress import progress_message

    columns = (
        rich_progress.SpinnerColumn(),
        rich_progress.TextColumn("{task.description}", markup=False),
        rich_progress.BarColumn(),
    )
    # Transient: only the result stays on the screen.
    with rich_progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Starting", total=None)

        def show(event: ProgressEvent) -> None:
            bar.update(task, description=progress_message(event), completed=event.done or 0, total=event.total)

        yield show
