"""A progress bar on standard error."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from diffprof.record.progress import Progress, ProgressEvent


@contextlib.contextmanager
def progress_bar(quiet: bool) -> Iterator[Progress | None]:
    """Give a callback that shows progress on standard error; None if that is not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with contextlib.ExitStack() as stack:
        show: Progress | None = None

        def report(event: ProgressEvent) -> None:
            nonlocal show
            if show is None:
                # Not before the first event: a profile from the cache needs no bar.
                show = _start_bar(stack.callback)
            show(event)

        yield report


def _start_bar(at_end: Callable[..., object]) -> Progress:
    from rich import progress as rich_progress
    from rich.console import Console

    from diffprof.render.progress import progress_message

    bar = rich_progress.Progress(
        rich_progress.SpinnerColumn(),
        rich_progress.TextColumn("{task.description}", markup=False),
        rich_progress.BarColumn(),
        console=Console(stderr=True, markup=False, emoji=False, highlight=False),
        transient=True,  # only the result stays on the screen
    )
    bar.start()
    at_end(bar.stop)
    task = bar.add_task("Starting", total=None)

    def show(event: ProgressEvent) -> None:
        bar.update(task, description=progress_message(event), completed=event.done or 0, total=event.total)

    return show
