"""``diffprof generate PROMPT``"""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diffprof import settings as config
from diffprof.cli import options as shared
from diffprof.cli.keeping import Keep, keeper
from diffprof.cli.progress import progress_bar
from diffprof.cli.request import call_arguments, dtype_name, whole_number
from diffprof.cli.terminal import write_shown, write_text
from diffprof.errors import DiffprofError, OutputError, RequestError

if TYPE_CHECKING:
    from diffprof.generation.batch import ModelResult
    from diffprof.generation.request import Wanted

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

SHEET = "contact_sheet.png"


@app.command()
def generate(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="What is to be seen.")],
    models: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="A folder, a hub id or a name of `diffprof models`. Repeatable."),
    ] = None,
    steps: shared.Steps = None,
    guidance: shared.Guidance = None,
    width: shared.Width = None,
    height: shared.Height = None,
    size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Both: 512x768, or the name of a preset (`diffprof config`).")
    ] = None,
    frames: shared.Frames = None,
    fps: Annotated[str | None, typer.Option(metavar="N", help="Frames a second of its file.")] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Of the noise; by default another each time.")] = None,
    negative_prompt: shared.NegativePrompt = None,
    scheduler: shared.Scheduler = None,
    cache: shared.Cache = None,
    settings: shared.Settings = None,
    dtype: shared.Dtype = None,
    device: shared.Device = None,
    offload: shared.Offload = None,
    folder: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Where the pictures go.", show_default=False)
    ] = None,
    profiling: Annotated[
        bool | None,
        typer.Option("--profiling/--no-profiling", help="Measure and count what it takes.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was made and what it took as JSON.")] = False,
    csv: shared.AsCsv = False,
    keep: Keep = None,
    quiet: shared.Quiet = False,
) -> None:
    """Generate a picture or a film, and measure what that takes.

    Without --model, the small model that comes with diffprof draws: "a red circle on a blue background". Several models
    make the same prompt one after the other, into a folder of their own with a contact sheet.
    """
    if json and csv:
        raise RequestError("--json and --csv exclude each other; choose one.")
    if keep and profiling is False:
        raise RequestError("--keep keeps a profile, and with --no-profiling there is none; leave one out.")
    width, height = _sides(width, height, size)
    named: dict[str, Any] = {
        "width": width,
        "height": height,
        "num_inference_steps": steps,
        "guidance_scale": guidance,
        "num_frames": frames,
    }
    texts = {"prompt": prompt, "negative_prompt": negative_prompt, "scheduler": scheduler, "cache": cache}
    asked = _asked(texts, call_arguments(named, settings or ()), seed)
    options = {
        "device": device,
        "dtype": dtype_name(dtype),
        "offload": offload,
        "output_dir": folder,
        "enable_profiling": profiling,
        "fps": None if fps is None else _rate(fps),
    }
    put = keeper(keep, "generate", quiet)
    made = _generated(models or [config.DEFAULT_MODEL], asked, options, quiet)
    if not quiet:
        sys.stderr.write("".join(f"Wrote {file}\n" for file in made.files))
    _show(made.results, asked, json, csv)
    for result in made.results:
        data = result.profiling_data or {}
        if "profile" in data:
            put(data["profile"], _picture(result.filepath))
    if made.problem is not None:
        raise made.problem
    _tell_failures(made.results)


@dataclass(frozen=True)
class _Made:
    results: Sequence[ModelResult]
    files: Sequence[Path]
    """That are there now."""
    problem: OutputError | None = None
    """Why the record or the contact sheet of a batch is not there."""


def _asked(texts: dict[str, Any], arguments: dict[str, Any], seed: str | None) -> Wanted:
    """What every model is asked; all that has no place of its own there are arguments of a pipeline's call."""
    from diffprof.generation.request import Wanted, wanted

    for name, text in {**texts, "seed": seed}.items():
        if text is not None and name in arguments:
            raise RequestError(f"The call argument {name} is given twice; leave one out.")
    own = {field.name for field in fields(Wanted)} - {"more"}
    given = {"seed": None if seed is None else whole_number("--seed", seed), **texts, **arguments}
    return wanted(
        **{name: value for name, value in given.items() if name in own},
        more={name: value for name, value in given.items() if name not in own},
    )


def _sides(width: str | None, height: str | None, size: str | None) -> tuple[str | None, str | None]:
    if size is None:
        return width, height
    if width is not None or height is not None:
        raise RequestError("--size gives width and height; leave --width and --height out.")
    from diffprof.generation.request import size_named

    sides = size_named(size)
    return str(sides[0]), str(sides[1])


def _rate(text: str) -> int:
    from diffprof.generation.request import MOST_FPS

    rate = whole_number("--fps", text)
    if not 1 <= rate <= MOST_FPS:
        raise RequestError(f"--fps must be from 1 to {MOST_FPS}, not {rate}.")
    return rate


def _generated(models: Sequence[str], asked: Wanted, options: dict[str, Any], quiet: bool) -> _Made:
    with progress_bar(quiet) as progress:
        from diffprof.generation.batch import ModelResult
        from diffprof.generation.generate import generate_image, generate_images_sequential
        from diffprof.generation.models import model_of

        own = {field.name: getattr(asked, field.name) for field in fields(asked) if field.name != "more"}
        options = {**own, **asked.more, **options, "progress": progress}
        if len(models) == 1:
            result = ModelResult(models[0], model_of(models[0]).title, *generate_image(models[0], **options))
            return _Made([result], _files(result))
        problem = None
        try:
            batch = generate_images_sequential(models, **options)
        except OutputError as error:
            if not hasattr(error, "batch"):
                raise
            batch, problem = error.batch, error
    files = [file for result in batch for file in _files(result)]
    if problem is not None:
        return _Made(batch.results, files, problem)
    try:
        sheet = _sheet(batch.results, batch.folder)
    except OutputError as error:
        return _Made(batch.results, [*files, batch.config_path], error)
    return _Made(batch.results, [*files, batch.config_path, *([sheet] if sheet else [])])


def _files(result: ModelResult) -> list[Path]:
    profile = (result.profiling_data or {}).get("profile_path")
    return [path for path in (result.filepath, Path(profile) if profile else None) if path is not None]


def _sheet(results: Sequence[ModelResult], folder: Path) -> Path | None:
    from diffprof.generation.image_files import contact_sheet, png_bytes
    from diffprof.record.atomic_files import replace_file

    made = [result for result in results if result.image is not None]
    if len(made) < 2:
        return None
    stills = [result.image[0] if isinstance(result.image, list) else result.image for result in made]
    sheet = contact_sheet([(result.model_name, still) for result, still in zip(made, stills, strict=True)])
    return replace_file(folder / SHEET, png_bytes(sheet))


def _show(results: Sequence[ModelResult], asked: Wanted, json: bool, csv: bool) -> None:
    from diffprof.generation import views as render

    data = [result.profiling_data for result in results if result.profiling_data]
    if json or csv:
        from diffprof.generation.batch import document

        now = datetime.now().replace(microsecond=0).isoformat()
        values = document(now, [result.model_id for result in results], asked, results)
        text = json_format.dumps(values, indent=2, allow_nan=False) + "\n"
        write_text(text if json else render.generations_csv(values["models"]))
    elif len(results) == 1 and data and "profile" in data[0]:
        write_shown(lambda console: render.print_generation(data[0]["profile"], data[0]["notes"], console))
    elif data:
        write_shown(lambda console: render.print_generations([_row(result) for result in results], console))


def _row(result: ModelResult) -> Any:
    from diffprof.generation.views import GenerationRow

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
        profile=data.get("profile"),
        notes=tuple(data.get("notes", ())),
    )


def _picture(path: Path | None) -> bytes | None:
    """What the history keeps of it: a picture, but no film."""
    return path.read_bytes() if path is not None and path.suffix == ".png" else None


def _tell_failures(results: Sequence[ModelResult]) -> None:
    from diffprof.generation.batch import error_sentence

    failed = [result for result in results if result.error is not None]
    if not failed:
        return
    reasons = "; ".join(f"{one.model_id}: {error_sentence(one.error).rstrip('.')}" for one in failed if one.error)
    none_at_all = len(failed) == len(results) and all(isinstance(one.error, RequestError) for one in failed)
    kind = RequestError if none_at_all else DiffprofError
    raise kind(f"{len(failed)} of {len(results)} models made no picture ({reasons}).")
