"""``diffprof profile MODEL``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from diffprof.cli.output import output
from diffprof.cli.request import VALUES, call_arguments, dtype_name
from diffprof.render.views import By

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def profile(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A name of `diffprof models`, a hub id or a folder in diffusers layout."),
    ],
    height: Annotated[str | None, typer.Option(metavar="PIXELS", help="Height of the picture.")] = None,
    width: Annotated[str | None, typer.Option(metavar="PIXELS", help="Width of the picture.")] = None,
    steps: Annotated[str | None, typer.Option(metavar="N", help="Denoising steps.")] = None,
    guidance: Annotated[str | None, typer.Option(metavar="SCALE", help="Guidance scale.")] = None,
    batch: Annotated[
        str | None, typer.Option(metavar="N", help="Images for each prompt (num_images_per_prompt).")
    ] = None,
    frames: Annotated[str | None, typer.Option(metavar="N", help="Frames of a video.")] = None,
    dtype: Annotated[str | None, typer.Option(metavar="NAME", help="float32, float16 or bfloat16.")] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Use another scheduler, by its class name; short names work: ddim, euler..."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help=f"Any call argument of the pipeline. {VALUES} Repeatable."),
    ] = None,
    enable: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A switch of the pipeline: vae_tiling, freeu... Repeatable."),
    ] = None,
    by: Annotated[By | None, typer.Option(help="What the rows of the table are.", show_default=False)] = None,
    depth: Annotated[
        str | None, typer.Option(metavar="N", help="Show the module tree to this depth; implies --by module.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the profile as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False,
    file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a .json, .json.gz, .csv or .txt file."),
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Count again, even if it was counted before.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every assumption.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no messages; errors only.")] = False,
) -> None:
    """Count what one generation with a model costs, without its weights.

    Nothing is downloaded but configuration files, and only when MODEL is a hub id that diffprof does not know by name.
    What is not given is the pipeline's own default.
    """
    result = output(json=json, csv=csv, file=file, by=by, depth=depth, verbose=verbose, quiet=quiet)
    named: dict[str, Any] = {
        "height": height,
        "width": width,
        "num_inference_steps": steps,
        "guidance_scale": guidance,
        "num_images_per_prompt": batch,
        "num_frames": frames,
    }
    from diffprof.cli.cached import Asked, counted

    arguments = call_arguments(named, settings or ())
    asked = Asked(model, dtype_name(dtype), scheduler, tuple(enable or ()), arguments)
    result.write(counted(asked, use_cache=not no_cache, quiet=quiet))
