"""``diffprof profile MODEL``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from diffprof.cli.keeping import Keep, keeper
from diffprof.cli.options import (
    AsCsv,
    AsJson,
    Batch,
    Dtype,
    Enable,
    Frames,
    Guidance,
    Height,
    Quiet,
    Scheduler,
    Settings,
    Steps,
    Width,
)
from diffprof.cli.output import output
from diffprof.cli.progress import progress_bar
from diffprof.cli.request import call_arguments, dtype_name
from diffprof.render.profile_tables import ProfileTable

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def profile(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A name of `diffprof models`, a hub id or a folder in diffusers layout."),
    ],
    height: Height = None,
    width: Width = None,
    steps: Steps = None,
    guidance: Guidance = None,
    batch: Batch = None,
    frames: Frames = None,
    dtype: Dtype = None,
    scheduler: Scheduler = None,
    settings: Settings = None,
    enable: Enable = None,
    by: Annotated[ProfileTable | None, typer.Option(help="What the rows of the table are.", show_default=False)] = None,
    depth: Annotated[
        str | None, typer.Option(metavar="N", help="Show the module tree to this depth; implies --by module.")
    ] = None,
    json: AsJson = False,
    csv: AsCsv = False,
    file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a .json, .json.gz, .csv or .txt file."),
    ] = None,
    keep: Keep = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Count again, even if it was counted before.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every assumption.")] = False,
    quiet: Quiet = False,
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
    from diffprof.counting.cached import Asked, counted

    arguments = call_arguments(named, settings or ())
    asked = Asked(model, dtype_name(dtype), scheduler, tuple(enable or ()), arguments)
    put = keeper(keep, "profile", quiet)
    profile = counted(asked, use_cache=not no_cache, progress=lambda: progress_bar(quiet))
    result.write(profile)
    put(profile)
