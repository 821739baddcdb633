"""``diffprof doctor``"""

from __future__ import annotations

from typing import Annotated

import typer

from diffprof.cli.options.groups import expand_groups
from diffprof.cli.output.answer import Answer, AnswerOptions
from diffprof.cli.output.progress import progress_bar

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@expand_groups
def doctor(
    *,
    device: Annotated[
        str | None,
        typer.Option(metavar="DEVICE", help="Where to run, such as cuda:1; as diffprof run by default."),
    ] = None,
    output: AnswerOptions,
) -> None:
    """Check that measured runs can be trusted on this machine, and print a report for an issue.

    Runs the bundled model and SDXL-shaped layers with random weights; nothing is downloaded. Exits with 1 if a check
    fails.
    """
    output.check()
    from diffprof.render import examination as render

    with progress_bar(output.quiet) as progress:
        from diffprof.runtime.doctor import examine

        examination = examine(device, progress)
    answer = Answer(
        lambda console: console.out(render.examination_text(examination), end="", highlight=False),
        lambda: render.examination_json(examination),
        lambda: render.examination_csv(examination),
        lambda: render.examination_markdown(examination),
    )
    output.write(answer)
    if not examination.is_healthy:
        raise typer.Exit(1)
