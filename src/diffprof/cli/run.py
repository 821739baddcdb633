"""``diffprof run MODEL``"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diffprof.catalogue.names import place_of
from diffprof.cli.keeping import Keep, keeper
from diffprof.cli.options import (
    AsCsv,
    AsJson,
    Batch,
    Cache,
    Device,
    Dtype,
    Enable,
    Frames,
    Guidance,
    Height,
    NegativePrompt,
    Offload,
    Quiet,
    Scheduler,
    Settings,
    Steps,
    Width,
)
from diffprof.cli.output import output
from diffprof.cli.progress import progress_bar
from diffprof.cli.request import call_arguments, dtype_name, whole_number
from diffprof.cli.run_files import check_files, write_files
from diffprof.errors import DiffprofError, InterruptedRun, PipelineError, RequestError
from diffprof.render.run_tables import RunTable

if TYPE_CHECKING:
    from diffprof.runtime.measure import Run

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

MOST_CALLS = 10_000


@app.command()
def run(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A folder in diffusers layout, a hub id or a name of `diffprof models`."),
    ],
    prompt: Annotated[str | None, typer.Option(metavar="TEXT", help="What to generate.")] = None,
    negative_prompt: NegativePrompt = None,
    height: Height = None,
    width: Width = None,
    steps: Steps = None,
    guidance: Guidance = None,
    batch: Batch = None,
    frames: Frames = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Of the noise; every iteration begins with it.")] = None,
    settings: Settings = None,
    warmup: Annotated[str, typer.Option(metavar="N", help="Calls before those that are timed.")] = "1",
    iterations: Annotated[str, typer.Option(metavar="N", help="Calls that are timed.")] = "3",
    trace: Annotated[
        bool, typer.Option("--trace", help="Make one more call of a few steps, with a Chrome trace of it.")
    ] = False,
    random_weights: Annotated[
        bool, typer.Option("--random-weights", help="Make random weights of the true architecture; nothing is fetched.")
    ] = False,
    device: Device = None,
    dtype: Dtype = None,
    scheduler: Scheduler = None,
    enable: Enable = None,
    offload: Offload = None,
    cache: Cache = None,
    sample_hz: Annotated[
        float, typer.Option(metavar="N", help="How often a second the machine is looked at; 0 for never.")
    ] = 10,
    by: Annotated[RunTable | None, typer.Option(help="Print only this table.", show_default=False)] = None,
    json: AsJson = False,
    csv: AsCsv = False,
    folder: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where the files go; made where it is not there.")
    ] = Path("profiling_results"),
    keep: Keep = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show everything that was measured.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run a model for real and measure where its time and memory go.

    Loads the weights from a folder or the hub, makes the call a few times, and writes profiling_report.json,
    memory_log.json, timing_summary.txt and, with --trace, trace.json. What is not given is the pipeline's own default.
    """
    result = replace(output(json=json, csv=csv, file=None, by=by, depth=None, verbose=verbose, quiet=quiet), table=by)
    named: dict[str, Any] = {
        "height": height,
        "width": width,
        "num_inference_steps": steps,
        "guidance_scale": guidance,
        "num_images_per_prompt": batch,
        "num_frames": frames,
    }
    arguments = _with_texts(call_arguments(named, settings or ()), prompt, negative_prompt)
    asked = Asked(
        model=model,
        arguments=arguments,
        seed=None if seed is None else _between("--seed", seed, 0, 2**63 - 1),
        warmup=_between("--warmup", warmup, 0, MOST_CALLS),
        iterations=_between("--iterations", iterations, 1, MOST_CALLS),
        trace_folder=folder if trace else None,
        sample_hz=_rate(sample_hz),
        loading={
            "dtype": dtype_name(dtype),
            "device": device,
            "random_weights": random_weights,
            "scheduler": scheduler,
            "enable": tuple(enable or ()),
            "offload": offload,
            "cache": cache,
        },
    )
    place_of(model)
    check_files(folder)
    put = keeper(keep, "run", quiet)
    made, problem = _measured(asked, folder, quiet)
    profile = made.profile
    try:
        files = write_files(folder, profile)
    finally:
        # Minutes of measuring are shown, whatever becomes of the files.
        result.write(profile)
    _say_where(folder, [*files, *([made.trace.path] if made.trace else [])], quiet)
    put(profile)
    if problem is not None:
        raise problem


@dataclass(frozen=True)
class Asked:
    """What the command line was asked to run."""

    model: str
    arguments: dict[str, Any]
    seed: int | None
    warmup: int
    iterations: int
    trace_folder: Path | None
    sample_hz: float
    loading: dict[str, Any]


def _measured(asked: Asked, folder: Path, quiet: bool) -> tuple[Run, DiffprofError | None]:
    """The run, and why there is no trace of it where one was asked for."""
    with progress_bar(quiet) as progress:
        from diffprof.counting.rehearsal import rehearse
        from diffprof.pipelines.weights import plan_loading
        from diffprof.runtime.measure import WHOLE_CALL, measure_opened
        from diffprof.runtime.timing.trace_recorder import TraceRecorder, TraceWarning

        arguments = _with_seed(asked.arguments, asked.seed)
        plan = plan_loading(asked.model, **asked.loading, call=arguments, progress=progress)
        loaded = plan.load(rehearse(plan, arguments, progress), progress)
        recorder = None
        if asked.trace_folder is not None:
            recorder = TraceRecorder(asked.trace_folder, record_shapes=True, active=WHOLE_CALL)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TraceWarning)  # it is told at the end, and ends the command with 1
                made = measure_opened(
                    loaded.opened,
                    arguments,
                    warmup=asked.warmup,
                    iterations=asked.iterations,
                    trace=recorder or False,
                    sample_hz=asked.sample_hz,
                    progress=progress,
                    scheduler=asked.loading["scheduler"],
                    enable=asked.loading["enable"],
                    load_seconds=loaded.seconds,
                )
        except (PipelineError, InterruptedRun) as error:
            _keep(error.run, asked, folder, quiet)
            raise
        return made, recorder.problem if recorder else None


def _keep(made: Run | None, asked: Asked, folder: Path, quiet: bool) -> None:
    """Save what was measured before the run was interrupted, or failed."""
    profile = made.profiles[-1] if made is not None and made.profiles else None
    if profile is None or profile.measured is None:
        return
    calls = sum(iteration.error is None for iteration in profile.measured.iterations)
    note = f"the run did not come to its end: {calls} of {asked.warmup + asked.iterations} calls were completed"
    measured = replace(profile.measured, notes=(*profile.measured.notes, note))
    _say_where(folder, write_files(folder, replace(profile, measured=measured)), quiet)


def _say_where(folder: Path, files: Sequence[Path], quiet: bool) -> None:
    if not quiet:
        sys.stderr.write(f"Wrote {', '.join(file.name for file in files)} into {folder}\n")


def _with_texts(arguments: dict[str, Any], prompt: str | None, negative_prompt: str | None) -> dict[str, Any]:
    texts = {"prompt": prompt, "negative_prompt": negative_prompt}
    for name, text in texts.items():
        if text is not None and name in arguments:
            raise RequestError(f"The call argument {name} is given twice; leave one out.")
    return {**{name: text for name, text in texts.items() if text is not None}, **arguments}


def _with_seed(arguments: dict[str, Any], seed: int | None) -> dict[str, Any]:
    if seed is None:
        return arguments
    if "generator" in arguments:
        raise RequestError("The noise is given twice, by --seed and by --set generator; leave one out.")
    import torch

    # On the CPU: then the noise is the same on every machine.
    return {**arguments, "generator": torch.Generator("cpu").manual_seed(seed)}


def _between(option: str, text: str, least: int, most: int) -> int:
    number = whole_number(option, text)
    if not least <= number <= most:
        raise RequestError(f"{option} must be from {least} to {most:,}, not {number:,}.")
    return number


def _rate(sample_hz: float) -> float:
    if not (math.isfinite(sample_hz) and 0 <= sample_hz <= MOST_SAMPLES):
        raise RequestError(f"--sample-hz must be from 0 to {MOST_SAMPLES}, not {sample_hz:g}.")
    return sample_hz


MOST_SAMPLES = 1000
