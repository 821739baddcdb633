"""``diffprof sweep NAME=VALUES...``"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffprof.cli.options import declarations as options
from diffprof.cli.options.groups import RequestOptions, expand_groups
from diffprof.cli.output.answer import Answer, PageOptions
from diffprof.cli.output.progress import progress_bar
from diffprof.cli.output.terminal import write_rendered
from diffprof.errors import DiffprofError, RequestError
from diffprof.record.request import parse_number
from diffprof.sweeps.axes import parse_sweep
from diffprof.sweeps.records import SweepMeasurement
from diffprof.sweeps.run import EngineName, SweepOptions, run_sweep
from diffprof.sweeps.trackers import Tracker

if TYPE_CHECKING:
    from diffprof.sweeps.records import SweepResult

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True)
class SweepRequestOptions(RequestOptions):
    """Options that all requests of a sweep share."""

    settings: options.Settings = None
    scheduler: options.Scheduler = None
    enable: options.Enable = None
    pipeline_defaults: options.PipelineDefaults = False


@dataclass(frozen=True)
class MeasuredSweepOptions:
    """Options for measuring every request instead of only counting it."""

    measure: Annotated[bool, typer.Option("--measure", help="Run every request for real, and measure it.")] = False
    warmup: Annotated[str, typer.Option(metavar="N", help="Calls before the timed ones.")] = "1"
    iterations: Annotated[str, typer.Option(metavar="N", help="Calls to time.")] = "3"
    gpus_per_task: Annotated[
        float | None, typer.Option(metavar="N", help="GPUs of the cluster that one measured request has to itself.")
    ] = None
    random_weights: options.RandomWeights = False
    device: options.Device = None
    offload: options.Offload = None
    seed: options.Seed = None

    def measurement(self) -> SweepMeasurement | None:
        """Check the options and convert them; None if nothing is measured."""
        if not self.measure:
            if any([self.gpus_per_task is not None, self.random_weights, self.device, self.offload, self.seed]):
                raise RequestError("--gpus-per-task, --random-weights, --device, --offload and --seed need --measure.")
            return None
        if self.gpus_per_task is not None and not 0 <= self.gpus_per_task <= 64:
            raise RequestError(f"--gpus-per-task must be a number from 0 to 64, not {self.gpus_per_task:g}.")
        warmup, iterations = parse_number("warmup", self.warmup), parse_number("iterations", self.iterations)
        return SweepMeasurement(warmup, iterations, self.gpus_per_task)


@dataclass(frozen=True)
class EngineOptions:
    """Options for where the points are computed and stored."""

    engine: Annotated[
        EngineName, typer.Option(help="Processes on this machine, or a Ray cluster.", show_default=False)
    ] = EngineName.local
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address of the Ray cluster: auto, or HOST:PORT.")
    ] = None
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes on this machine; by default one per core, at most four.")
    ] = None
    to: Annotated[Tracker | None, typer.Option(help="Also log every point to this tracker.", show_default=False)] = None
    store: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Store the results here instead of in the cache.")
    ] = None
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute points again that an earlier sweep computed.")] = False

    def options(self) -> SweepOptions:
        """Check the options and convert them."""
        if self.address is not None and self.engine is not EngineName.ray:
            raise RequestError("--address is for a Ray cluster; add --engine ray.")
        if self.workers is not None and not 1 <= self.workers <= 256:
            raise RequestError(f"--workers must be a whole number from 1 to 256, not {self.workers}.")
        return SweepOptions(self.engine, self.address, self.workers, self.store, self.fresh, self.to)


@dataclass(frozen=True)
class SweepOutputOptions(PageOptions):
    """Options for the format of the table, and where it is written."""

    file: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write to a .csv, .json, .parquet, .md, .html or .txt file instead."
        ),
    ] = None
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before a very large sweep.")] = False

    def check(self, *others: str) -> None:
        """Refuse contradicting formats and unwritable files before anything is computed."""
        from diffprof.sweeps.views.files import check_ending

        if self.file is not None:
            check_ending(self.file)  # Parquet needs a library
        super().check(".parquet", *others)


@app.command()
@expand_groups
def sweep(
    axes: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=VALUES...",
            help="models, sizes, heights, widths, frames, steps, guidances, batches, dtypes, gpus: "
            "values with commas, or FIRST..LAST:STEP.",
        ),
    ],
    requested: SweepRequestOptions,
    measured: MeasuredSweepOptions,
    engine: EngineOptions,
    output: SweepOutputOptions,
) -> None:
    """Tabulate what every combination of models, sizes, steps and accelerators costs.

    An interrupted sweep continues where it stopped when the same command is run again. Points that fail are listed, and
    the others are finished. docs/sweeps.md has examples.
    """
    output.check()
    others = {"random_weights": measured.random_weights, "device": measured.device, "offload": measured.offload}
    base = requested.request("", seed=measured.seed, **others)
    planned = parse_sweep(axes, base, measured.measurement())
    with progress_bar(output.quiet) as progress:
        result = run_sweep(planned, engine.options(), progress, _confirm if not output.yes else lambda message: True)
    write(result, output)
    if result.failures:
        raise DiffprofError(
            f"{len(result.failures):,} of {planned.requests:,} requests failed; run the same command to try them again."
        )


def _confirm(message: str) -> bool:
    """Ask for confirmation on the terminal; without a terminal the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return typer.confirm(f"{message}. Continue?", err=True)


def write(result: SweepResult, output: SweepOutputOptions) -> None:
    """Write the result as the options say; if it goes to a file, failures are also printed."""
    from diffprof.sweeps.views import files, tables

    output.write(
        Answer(
            lambda console: tables.print_sweep(result, console),
            lambda: files.sweep_json(result),
            lambda: files.sweep_csv(result),
            lambda: tables.sweep_markdown(result),
            {".html": lambda: files.sweep_page(result).encode(), ".parquet": lambda: files.sweep_parquet(result)},
        )
    )
    if output.file is not None and result.failures:
        from diffprof.render.blocks import print_blocks

        write_rendered(lambda console: print_blocks(tables.sweep_blocks(result)[-1:], console))
