"""``diffprof crosscheck MODEL``"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from diffprof.catalogue.names import place_of
from diffprof.cli.progress import progress_bar
from diffprof.cli.request import VALUES, call_arguments
from diffprof.cli.terminal import write_shown, write_text
from diffprof.errors import RequestError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def crosscheck(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A name of `diffprof models`, a hub id or a folder in diffusers layout."),
    ],
    component: Annotated[
        str | None, typer.Option(metavar="SLOT", help="The component to count: unet, vae... By default the denoiser.")
    ] = None,
    height: Annotated[str | None, typer.Option(metavar="PIXELS", help="Height of the picture.")] = None,
    width: Annotated[str | None, typer.Option(metavar="PIXELS", help="Width of the picture.")] = None,
    guidance: Annotated[str | None, typer.Option(metavar="SCALE", help="Guidance scale.")] = None,
    batch: Annotated[
        str | None, typer.Option(metavar="N", help="Images for each prompt (num_images_per_prompt).")
    ] = None,
    frames: Annotated[str | None, typer.Option(metavar="N", help="Frames of a video.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help=f"Any call argument of the pipeline. {VALUES} Repeatable."),
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="thop-sdpa, thop, calflops, fvcore, torch-meta or torch-cpu. Repeatable."),
    ] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="How long one tool may take.")] = 900,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no messages; errors only.")] = False,
) -> None:
    """Count one component with other tools too, and say what each of them missed.

    Most of them compute for real, with random weights: that takes as long and as much memory as one call of the model
    on this machine. They come with `pip install diffprof[crosscheck]`.
    """
    if json and csv:
        raise RequestError("--json and --csv exclude each other; choose one.")
    if not timeout > 0:
        raise RequestError(f"--timeout must be a number of seconds above 0, not {timeout:g}.")
    place_of(model)
    named: dict[str, Any] = {
        "height": height,
        "width": width,
        "guidance_scale": guidance,
        "num_images_per_prompt": batch,
        "num_frames": frames,
    }
    arguments = call_arguments(named, settings or ())
    from diffprof.crosscheck import views as render
    from diffprof.crosscheck.running import crosscheck as compare
    from diffprof.crosscheck.tools import TOOLS

    with progress_bar(quiet) as progress:
        made = compare(model, component, arguments, tuple(tool or TOOLS), timeout, progress)
    if json or csv:
        write_text(render.crosscheck_json(made) if json else render.crosscheck_csv(made))
    else:
        write_shown(lambda console: render.print_crosscheck(made, console))
