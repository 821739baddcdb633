"""``diffprof run MODEL``"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffprof.catalogue.names import resolve
from diffprof.cli.options import declarations as options
from diffprof.cli.options.groups import OutputOptions, RunOptions, expand_groups
from diffprof.cli.options.keep import Keep, make_history_writer
from diffprof.cli.output.profile import choose_output
from diffprof.cli.output.progress import progress_bar
from diffprof.cli.output.terminal import print_written
from diffprof.cli.parsing.optional_values import OptionalValueCommand
from diffprof.errors import DiffprofError, InterruptedRun, OutOfMemoryError, PipelineError
from diffprof.record.progress import Activity, ProgressEvent
from diffprof.record.request import parse_number
from diffprof.render.guides.run_folder import RunFiles
from diffprof.render.table_names import RunTable
from diffprof.settings.limits import LIMITS

if TYPE_CHECKING:
    from diffprof.record.request import Request
    from diffprof.runtime.measure import Run

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True)
class MeasurementOptions:
    """Options for how the run is measured."""

    warmup: Annotated[
        str, typer.Option(metavar="N", help="Calls before the timed ones, not counted in the results.")
    ] = "1"
    iterations: Annotated[
        str | None,
        typer.Option(metavar="N", help="Calls to time; by default at least 5, until the median is known well."),
    ] = None
    time_budget: Annotated[
        str, typer.Option(metavar="SECONDS", help="Time limit for all timed calls, if --iterations is not given.")
    ] = "60"
    trace: Annotated[bool, typer.Option("--trace", help="Record a Chrome trace of one more call with a few steps.")] = (
        False
    )
    memory_snapshot: Annotated[
        bool, typer.Option("--memory-snapshot", help="Record which code allocates GPU memory, for `diffprof memory`.")
    ] = False
    sample_hz: Annotated[
        float, typer.Option(metavar="N", help="How often per second to sample CPU, disk and GPU; 0 for never.")
    ] = 10


@dataclass(frozen=True)
class RunOutputOptions:
    """Options for what is printed, and where the files are written."""

    by: Annotated[RunTable | None, typer.Option(help="Print only this table.", show_default=False)] = None
    json: options.AsJson = False
    csv: options.AsCsv = False
    markdown: options.AsMarkdown = False
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER|FILE.json",
            help="A folder for all files, created if it does not exist, or a file for the profile alone.",
        ),
    ] = Path("profiling_results")
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show everything that was measured.")] = False
    quiet: options.Quiet = False


@app.command(cls=OptionalValueCommand)
@expand_groups
def run(
    model: options.Model,
    requested: RunOptions,
    measurement: MeasurementOptions,
    output: RunOutputOptions,
    keep: Keep = None,
) -> None:
    """Run a model and measure where its time and memory go.

    Loads the weights from a folder or the hub, calls the pipeline a few times, and writes profiling_report.json,
    memory_log.json, timing_summary.txt and, with --trace, trace.json. Without options, the settings recommended
    for the model are used, else the pipeline's defaults.
    """
    printed = OutputOptions(
        json=output.json, csv=output.csv, markdown=output.markdown, verbose=output.verbose, quiet=output.quiet
    )
    result = replace(choose_output(printed, output.by), table=output.by)
    request = requested.request(model)
    warmup = parse_number("warmup", measurement.warmup)
    iterations = None if measurement.iterations is None else parse_number("iterations", measurement.iterations)
    budget = parse_number("time_budget", measurement.time_budget)
    LIMITS["sample_hz"].check(measurement.sample_hz, "--sample-hz")
    resolve(model)
    run_files = RunFiles.at(output.output)
    run_files.check()
    keep_profile = make_history_writer(keep, "run", output.quiet)
    measured, trace_problem = _measure(request, warmup, iterations, budget, measurement, output, run_files)
    if not is_first_process():
        return  # the first process writes the results of all
    try:
        files = run_files.write(measured.profile)
    finally:
        # Printed even if writing the files fails: measuring took minutes.
        if not output.quiet or output.by is not None or result.format is not None:
            result.write(measured.profile)
    written = [*files, *([measured.trace.path] if measured.trace else [])]
    print_written(run_files.describe(written), output.quiet)
    keep_profile(measured.profile)
    if trace_problem is not None:
        raise trace_problem


def _measure(
    request: Request,
    warmup: int,
    iterations: int | None,
    budget: float,
    measurement: MeasurementOptions,
    output: RunOutputOptions,
    run_files: RunFiles,
) -> tuple[Run, DiffprofError | None]:
    """Measure the run; the second value is why a requested trace is missing."""
    with progress_bar(output.quiet or not is_first_process()) as progress:
        if progress is not None:
            # Before the libraries are imported, which takes seconds.
            progress(ProgressEvent(Activity.opening, str(request.model)))
        from diffprof.runtime.memory_history import memory_snapshot
        from diffprof.runtime.model_run import ModelRun

        trace_folder = run_files.folder if measurement.trace else False
        model_run = ModelRun(request, warmup, iterations, trace_folder, measurement.sample_hz, budget_seconds=budget)
        try:
            with memory_snapshot(run_files.folder, measurement.memory_snapshot):
                return model_run.measure(progress)
        except (PipelineError, InterruptedRun) as error:
            files = _memory_files(error)
            if error.run is not None and error.run.profiles:
                files = [*run_files.write(error.run.profiles[-1]), *files]
            if files:
                print_written(run_files.describe(files), output.quiet)
            raise


def _memory_files(error: BaseException) -> list[Path]:
    """The memory snapshot of a GPU that ran out of memory, and a page that explains it."""
    if not isinstance(error, OutOfMemoryError) or error.snapshot is None:
        return []
    from diffprof.traces.memory.out_of_memory import explained_files

    return explained_files(error.snapshot)


def is_first_process() -> bool:
    """Whether this process writes and prints: rank 0 of torchrun, or the only process."""
    return "WORLD_SIZE" not in os.environ or os.environ.get("RANK", "0") == "0"
