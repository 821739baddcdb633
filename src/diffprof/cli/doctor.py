"""``diffprof doctor``"""

from __future__ import annotations

from typing import Annotated

import typer

from diffprof.cli import options
from diffprof.cli.progress import progress_bar
from diffprof.cli.terminal import write_text

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def doctor(
    device: Annotated[
        str | None,
        typer.Option(metavar="DEVICE", help="Where to run, such as cuda:1; as diffprof run by default."),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Check that measured runs can be trusted on this machine, and print a report for an issue.

    Runs the bundled model and SDXL-shaped layers with random weights; nothing is downloaded. Exits with 1 if a check
    fails.
    """
    from diffprof.render.examination import examination_text

    with progress_bar(quiet) as progress:
        from diffprof.runtime.doctor import examine

        examination = examine(device, progress)
    write_text(examination_text(examination))
    if not examination.is_healthy:
        raise typer.Exit(1)
