"""``diffprof generate PROMPT``"""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diffprof import config
from diffprof.cli.cached import progress
from diffprof.cli.keeping import Keep, keeper
from diffprof.cli.request import VALUES, call_arguments, dtype_name, whole_number
from diffprof.cli.terminal import write_shown, write_text
from diffprof.errors import DiffprofError, RequestError

if TYPE_CHECKING:
    from diffprof.generation.record import ModelResult
    from diffprof.generation.wanted import Wanted

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

SHEET = "contact_sheet.png"


@app.command()
def generate(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="What is to be seen.")],
    models: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="A folder, a hub id or a name of `diffprof models`. Repeatable."),
    ] = None,
    steps: Annotated[str | None, typer.Option(metavar="N", help="Denoising steps.")] = None,
    guidance: Annotated[str | None, typer.Option(metavar="SCALE", help="Guidance scale.")] = None,
    width: Annotated[str | None, typer.Option(metavar="PIXELS", help="Width of the picture.")] = None,
    height: Annotated[str | None, typer.Option(metavar="PIXELS", help="Height of the picture.")] = None,
    size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Both: 512x768, or the name of a preset (`diffprof config`).")
    ] = None,
    frames: Annotated[str | None, typer.Option(metavar="N", help="Frames of a video.")] = None,
    fps: Annotated[str | None, typer.Option(metavar="N", help="Frames a second of its file.")] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Of the noise; by default another each time.")] = None,
    negative_prompt: Annotated[str | None, typer.Option(metavar="TEXT", help="What to guide away from.")] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Use another scheduler, by its class name; short names work: ddim, euler..."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help=f"Any call argument of the pipeline. {VALUES} Repeatable."),
    ] = None,
    dtype: Annotated[str | None, typer.Option(metavar="NAME", help="float32, float16 or bfloat16.")] = None,
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="cpu, cuda, cuda:1, mps... By default the accelerator, if any.")
    ] = None,
    offload: Annotated[
        str | None, typer.Option(metavar="WAY", help="Keep weights off the device: model, sequential or group.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Where the pictures go.", show_default=False)
    ] = None,
    profiling: Annotated[
        bool | None,
        typer.Option("--profiling/--no-profiling", help="Measure and count what it takes.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was made and what it took as JSON.")] = False,
    keep: Keep = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no messages; errors only.")] = False,
) -> None:
    """Generate a picture or a film, and measure what that takes.

    Without --model, the small model that comes with diffprof draws: "a red circle on a blue background". Several models
    make the same prompt one after the other, into a folder of their own with a contact sheet.
    """
    from diffprof.generation.wanted import size_named, wanted

    if size is not None:
        if width is not None or height is not None:
            raise RequestError("--size gives width and height; leave --width and --height out.")
        width, height = map(str, size_named(size))
    named: dict[str, Any] = {
        "width": width, "height": height, "num_inference_steps": steps, "guidance_scale": guidance,
        "num_frames": frames,
    }  # fmt: skip
    arguments = call_arguments(named, settings or ())
    arguments |= {"prompt": prompt, "scheduler": scheduler, "negative_prompt": negative_prompt}
    arguments["seed"] = None if seed is None else whole_number("--seed", seed)
    own = {name: arguments.pop(name) for name in list(arguments) if name in OWN}
    asked = wanted(**own, more=arguments)
    put = keeper(keep, "generate", quiet)
    options = {
        **own, **arguments, "device": device, "dtype": dtype_name(dtype), "offload": offload, "output_dir": folder,
        "enable_profiling": profiling, "fps": None if fps is None else whole_number("--fps", fps),
    }  # fmt: skip
    results, files = _generated(models or [config.DEFAULT_MODEL], options, quiet)
    asked = replace(asked, seed=results[0].seed)
    _show(results, asked, json)
    if not quiet:
        sys.stderr.write("".join(f"Wrote {file}\n" for file in files))
    for result in results:
        data = result.profiling_data or {}
        if "profile" in data:
            put(data["profile"], _picture(result.filepath))
    _tell_failures(results)


OWN = (
    "prompt", "negative_prompt", "num_inference_steps", "guidance_scale", "width", "height", "seed", "scheduler",
)  # fmt: skip
"""What every model is asked; all else are arguments of a pipeline's call."""


def _generated(models: Sequence[str], options: dict[str, Any], quiet: bool) -> tuple[list[ModelResult], list[Path]]:
    """What was made, and the files that are there now."""
    with progress(quiet) as report:
        from diffprof.generation.record import ModelResult
        from diffprof.inference import generate_image, generate_images_sequential
        from diffprof.model_manager import model_of

        if len(models) == 1:
            made = generate_image(models[0], progress_callback=report, **options)
            result = ModelResult(models[0], model_of(models[0]).title, *made)
            return [result], _files(result)
        batch = generate_images_sequential(models, progress_callback=report, **options)
    files = [file for result in batch for file in _files(result)]
    sheet = _sheet(batch.results, batch.folder)
    return batch.results, [*files, batch.config_path, *([sheet] if sheet else [])]


def _files(result: ModelResult) -> list[Path]:
    profile = (result.profiling_data or {}).get("profile_path")
    return [path for path in (result.filepath, Path(profile) if profile else None) if path is not None]


def _sheet(results: Sequence[ModelResult], folder: Path) -> Path | None:
    from diffprof.generation.pictures import contact_sheet, png_bytes
    from diffprof.profiles.replace import replace_file

    made = [result for result in results if result.image is not None]
    if len(made) < 2:
        return None
    stills = [result.image[0] if isinstance(result.image, list) else result.image for result in made]
    sheet = contact_sheet([(result.model_name, still) for result, still in zip(made, stills, strict=True)])
    return replace_file(folder / SHEET, png_bytes(sheet))


def _show(results: Sequence[ModelResult], asked: Wanted, json: bool) -> None:
    if json:
        from diffprof.generation.record import document

        now = datetime.now().replace(microsecond=0).isoformat()
        values = document(now, [result.model_id for result in results], asked, results)
        write_text(json_format.dumps(values, indent=2, allow_nan=False) + "\n")
    elif any(result.profiling_data for result in results):
        from diffprof.render.generation import print_generations

        rows = [_row(result) for result in results]
        write_shown(lambda console: print_generations(rows, console))


def _row(result: ModelResult) -> Any:
    from diffprof.render.generation import GenerationRow

    data = result.profiling_data or {}
    rate = data.get("throughput_tflops")
    return GenerationRow(
        model=result.model_name,
        made=result.error is None,
        seconds=data.get("inference_time_seconds"),
        macs=data.get("total_macs"),
        flops_per_second=rate * 10**12 if rate is not None else None,
        peak_memory_bytes=data.get("peak_memory_bytes"),
        parameters=data.get("pipeline_params"),
        steps=data.get("num_executed_steps"),
    )


def _picture(path: Path | None) -> bytes | None:
    """What the history keeps of it: a picture, but no film."""
    return path.read_bytes() if path is not None and path.suffix == ".png" else None


def _tell_failures(results: Sequence[ModelResult]) -> None:
    from diffprof.generation.record import error_sentence

    failed = [result for result in results if result.error is not None]
    if not failed:
        return
    reasons = "; ".join(f"{one.model_id}: {error_sentence(one.error).rstrip('.')}" for one in failed if one.error)
    none_at_all = len(failed) == len(results) and all(isinstance(one.error, RequestError) for one in failed)
    kind = RequestError if none_at_all else DiffprofError
    raise kind(f"{len(failed)} of {len(results)} models made no picture ({reasons}).")
