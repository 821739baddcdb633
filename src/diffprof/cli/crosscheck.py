"""``diffprof crosscheck MODEL``"""

from __future__ import annotations

from typing import Annotated

import typer

from diffprof.catalogue.names import resolve
from diffprof.catalogue.recommended import add_recommended
from diffprof.cli import options
from diffprof.cli.option_groups import ComponentOptions, expand_groups
from diffprof.cli.output import check_formats
from diffprof.cli.progress import progress_bar
from diffprof.cli.terminal import write_rendered, write_text
from diffprof.errors import RequestError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@expand_groups
def crosscheck(
    model: options.Model,
    requested: ComponentOptions,
    component: Annotated[
        str | None, typer.Option(metavar="SLOT", help="The component to count: unet, vae... By default the denoiser.")
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="thop-sdpa, thop, calflops, fvcore, torch-meta or torch-cpu. Repeatable."),
    ] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Time limit for each tool.")] = 900,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    csv: options.AsCsv = False,
    quiet: options.Quiet = False,
) -> None:
    """Count one component with other tools too, and show what each of them missed.

    Most of them execute the model with random weights, which takes the time and memory of one call on this machine.
    They come with `pip install diffprof[crosscheck]`.
    """
    check_formats(json, csv)
    if not timeout > 0:
        raise RequestError(f"--timeout must be a number of seconds above 0, not {timeout:g}.")
    resolve(model)
    request = add_recommended(requested.request(model))
    from diffprof.crosscheck import views as render
    from diffprof.crosscheck.run_tools import crosscheck as compare
    from diffprof.crosscheck.tools import TOOLS

    with progress_bar(quiet) as progress:
        made = compare(model, component, request.arguments, tuple(tool or TOOLS), timeout, progress)
    if json or csv:
        write_text(render.crosscheck_json(made) if json else render.crosscheck_csv(made))
    else:
        write_rendered(lambda console: render.print_crosscheck(made, console))
