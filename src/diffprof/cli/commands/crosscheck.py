"""``diffprof crosscheck MODEL``"""

from __future__ import annotations

from typing import Annotated

import typer

from diffprof.catalogue.names import resolve
from diffprof.catalogue.recommended_settings import add_recommended
from diffprof.cli.options import declarations as options
from diffprof.cli.options.groups import ComponentOptions, expand_groups
from diffprof.cli.output.answer import Answer, AnswerOptions
from diffprof.cli.output.progress import progress_bar
from diffprof.errors import RequestError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@expand_groups
def crosscheck(
    *,
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
    limit_memory: options.LimitMemory = None,
    limit_time: options.LimitTime = None,
    output: AnswerOptions,
) -> None:
    """Count one component with other tools too, and show what each of them misses.

    Most of them execute the model with random weights, which takes the time and memory of one call on this machine.
    Install them with `pip install 'diffprof[crosscheck]'`.
    """
    output.check()
    if not timeout > 0:
        raise RequestError(f"--timeout must be a number of seconds above 0, not {timeout:g}.")
    resolve(model)
    request = add_recommended(requested.request(model))
    from diffprof.crosscheck import views
    from diffprof.crosscheck.run_tools import crosscheck as compare
    from diffprof.crosscheck.tools import TOOLS

    with progress_bar(output.quiet) as progress:
        result = compare(model, component, request.arguments, tuple(tool or TOOLS), timeout, progress)
    answer = Answer(
        lambda console: views.print_crosscheck(result, console),
        lambda: views.crosscheck_json(result),
        lambda: views.crosscheck_csv(result),
        lambda: views.crosscheck_markdown(result),
    )
    output.write(answer)
