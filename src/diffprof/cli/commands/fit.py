"""``diffprof fit MODEL --gpu NAME``"""

from __future__ import annotations

from typing import Annotated

import typer

from diffprof.cli.options.groups import expand_groups
from diffprof.cli.options.prediction import (
    ACCELERATOR,
    Hardware,
    Model,
    PredictionOptions,
    Ram,
    RunningOptions,
)
from diffprof.cli.output.answer import ResultOptions
from diffprof.cli.output.predictions import fit_answer
from diffprof.cli.sources import open_model
from diffprof.errors import RequestError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@expand_groups
def fit(
    model: Model,
    requested: PredictionOptions,
    running: RunningOptions,
    output: ResultOptions,
    gpu: Annotated[str | None, ACCELERATOR] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory of a device that `diffprof hardware` does not list: 24GB."),
    ] = None,
    ram: Ram = None,
    hardware: Hardware = None,
) -> None:
    """Check whether a generation fits in memory, where it peaks, and what would make it fit.

    Nothing is run: the allocations of the count are replayed through a model of PyTorch's allocator. docs/memory.md
    says how, and how far to trust it.
    """
    from diffprof.advice.fit import FitRequest, fit_profile
    from diffprof.advice.sizes import parse_memory
    from diffprof.settings.limits import dtype_name

    output.check()
    if hardware is not None and gpu is None:
        raise RequestError("--hardware adds accelerators; name one of them with --gpu.")
    sizes = parse_memory("--memory", memory), parse_memory("--ram", ram)
    request = FitRequest(gpu, *sizes, running.run_settings(), hardware, dtype_name(requested.dtype))
    request.check()
    source = open_model(model, requested, output.quiet, [gpu] if gpu else [], hardware)
    result = fit_profile(source.profile, request, source)
    output.write(fit_answer(result, output.verbose))
