"""``diffprof generate PROMPT``"""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diffprof import settings as config
from diffprof.cli.options import completion
from diffprof.cli.options import declarations as options
from diffprof.cli.options.groups import RequestOptions, expand_groups
from diffprof.cli.options.keep import Keep, make_history_writer
from diffprof.cli.output.formats import check_formats
from diffprof.cli.output.progress import progress_bar
from diffprof.cli.output.terminal import write_rendered, write_text
from diffprof.errors import DiffprofError, OutputError, RequestError
from diffprof.record.request import Request, parse_number

if TYPE_CHECKING:
    from diffprof.generation.batch import ModelResult

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

SHEET = "contact_sheet.png"


@dataclass(frozen=True)
class GenerateOptions(RequestOptions):
    """Options for what to generate."""

    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="Describes the image or video.")]
    steps: options.Steps = None
    guidance: options.Guidance = None
    width: options.Width = None
    height: options.Height = None
    size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Width and height: 512x768, or a preset of `diffprof config`.")
    ] = None
    frames: options.Frames = None
    seed: Annotated[str | None, typer.Option(metavar="N", help="Seed of the noise; random by default.")] = None
    negative_prompt: options.NegativePrompt = None
    scheduler: options.Scheduler = None
    cache: options.Cache = None
    settings: options.Settings = None
    dtype: options.Dtype = None
    device: options.Device = None
    offload: options.Offload = None


@dataclass(frozen=True)
class GenerateOutputOptions:
    """Options for what is measured and printed, and where the files are written."""

    fps: Annotated[str | None, typer.Option(metavar="N", help="Frames per second of the video file.")] = None
    folder: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Folder for the files.", show_default=False)
    ] = None
    profiling: Annotated[
        bool | None,
        typer.Option("--profiling/--no-profiling", help="Measure and count the generation.", show_default=False),
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Print the results and their profiling data as JSON.")] = False
    csv: options.AsCsv = False
    markdown: options.AsMarkdown = False
    quiet: options.Quiet = False


@app.command()
@expand_groups
def generate(
    *,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="A name of `diffprof models`, a hub id or a folder. Repeatable.",
            autocompletion=completion.model_names,
        ),
    ] = None,
    requested: GenerateOptions,
    output: GenerateOutputOptions,
    keep: Keep = None,
) -> None:
    """Generate an image or a video, and measure what it takes.

    Without --model, the small model that comes with diffprof draws: "a red circle on a blue background". Several models
    get the same prompt one after the other, and write into a new folder with a contact sheet.
    """
    check_formats(output.json, output.csv, output.markdown)
    if keep and output.profiling is False:
        raise RequestError("--keep needs a profile, and --no-profiling makes none; leave one out.")
    models = models or [config.DEFAULT_MODEL]
    request = _request(models[0], requested)
    fps = None if output.fps is None else parse_number("fps", output.fps)
    keep_profile = make_history_writer(keep, "generate", output.quiet)
    outcome = _generate(models, request, output, fps)
    if not output.quiet:
        sys.stderr.write("".join(f"Wrote {file}\n" for file in outcome.files))
    _show(outcome.results, request, output)
    for result in outcome.results:
        data = result.profiling_data or {}
        if "profile" in data:
            keep_profile(data["profile"], _png_content(result.filepath))
    if outcome.problem is not None:
        raise outcome.problem
    _raise_failures(outcome.results)


def _request(model: str, requested: GenerateOptions) -> Request:
    """Build the request; a missing seed is drawn here, so that it can be recorded."""
    from diffprof.generation.request import complete, parse_size

    if requested.size is not None:
        if requested.width is not None or requested.height is not None:
            raise RequestError("--size sets both width and height; leave out --width and --height.")
        width, height = parse_size(requested.size)
        requested = replace(requested, size=None, width=str(width), height=str(height))
    return complete(requested.request(model))


@dataclass(frozen=True)
class _Outcome:
    results: Sequence[ModelResult]
    files: Sequence[Path]
    """All files that were written."""
    problem: OutputError | None = None
    """Why the record or the contact sheet of a batch is missing."""


def _generate(models: Sequence[str], request: Request, output: GenerateOutputOptions, fps: int | None) -> _Outcome:
    with progress_bar(output.quiet) as progress:
        from diffprof.generation.batch import ModelResult
        from diffprof.generation.generate import GenerationOptions, generate, generate_batch
        from diffprof.generation.models import model_of

        options = GenerationOptions(output.folder, output.profiling, fps)
        if len(models) == 1:
            generated = generate(request, options, progress)
            result = ModelResult(models[0], model_of(models[0]).title, *generated)
            return _Outcome([result], _files(result))
        problem = None
        try:
            batch = generate_batch(models, request, options, progress)
        except OutputError as error:
            if error.batch is None:
                raise
            batch, problem = error.batch, error
    files = [file for result in batch for file in _files(result)]
    if problem is not None:
        return _Outcome(batch.results, files, problem)
    try:
        sheet = _write_contact_sheet(batch.results, batch.folder)
    except OutputError as error:
        return _Outcome(batch.results, [*files, batch.config_path], error)
    return _Outcome(batch.results, [*files, batch.config_path, *([sheet] if sheet else [])])


def _files(result: ModelResult) -> list[Path]:
    profile = (result.profiling_data or {}).get("profile_path")
    return [path for path in (result.filepath, Path(profile) if profile else None) if path is not None]


def _write_contact_sheet(results: Sequence[ModelResult], folder: Path) -> Path | None:
    from diffprof.generation.image_files import contact_sheet, png_bytes
    from diffprof.record.atomic_files import replace_file

    succeeded = [result for result in results if result.image is not None]
    if len(succeeded) < 2:
        return None
    stills = [result.image[0] if isinstance(result.image, list) else result.image for result in succeeded]
    sheet = contact_sheet([(result.model_name, still) for result, still in zip(succeeded, stills, strict=True)])
    return replace_file(folder / SHEET, png_bytes(sheet))


def _show(results: Sequence[ModelResult], request: Request, output: GenerateOutputOptions) -> None:
    from diffprof.generation import views

    data = [result.profiling_data for result in results if result.profiling_data]
    if output.json or output.csv:
        from diffprof.generation.batch import batch_document

        now = datetime.now().replace(microsecond=0).isoformat()
        values = batch_document(now, [result.model_id for result in results], request, results)
        text = json_format.dumps(values, indent=2, allow_nan=False) + "\n"
        write_text(text if output.json else views.generations_csv(values["models"]))
    elif output.markdown:
        write_text(views.generations_markdown([_row(result) for result in results]))
    elif len(results) == 1 and data and "profile" in data[0]:
        write_rendered(lambda console: views.print_generation(data[0]["profile"], data[0]["notes"], console))
    elif data:
        write_rendered(lambda console: views.print_generations([_row(result) for result in results], console))


def _row(result: ModelResult) -> Any:
    from diffprof.generation.views import GenerationRow

    data = result.profiling_data or {}
    rate = data.get("throughput_tflops")
    return GenerationRow(
        model=result.model_name,
        succeeded=result.error is None,
        seconds=data.get("inference_time_seconds"),
        macs=data.get("total_macs"),
        flops_per_second=rate * 10**12 if rate is not None else None,
        peak_memory_bytes=data.get("peak_memory_bytes"),
        parameters=data.get("pipeline_params"),
        steps=data.get("num_executed_steps"),
        profile=data.get("profile"),
        notes=tuple(data.get("notes", ())),
    )


def _png_content(path: Path | None) -> bytes | None:
    """The bytes of a generated image, for the history; None for a video."""
    return path.read_bytes() if path is not None and path.suffix == ".png" else None


def _raise_failures(results: Sequence[ModelResult]) -> None:
    from diffprof.generation.batch import error_sentence

    failed = [result for result in results if result.error is not None]
    if not failed:
        return
    reasons = "; ".join(
        f"{result.model_id}: {error_sentence(result.error).rstrip('.')}" for result in failed if result.error
    )
    all_refused = len(failed) == len(results) and all(isinstance(result.error, RequestError) for result in failed)
    kind = RequestError if all_refused else DiffprofError
    raise kind(f"{len(failed)} of {len(results)} models failed ({reasons}).")
