"""``diffprof fit MODEL --gpu NAME``"""

from __future__ import annotations

from typing import Annotated

import typer

from diffprof.cli.option_groups import expand_groups
from diffprof.cli.predicted_answers import fit_answer
from diffprof.cli.running_options import (
    ACCELERATOR,
    Hardware,
    Model,
    PredictedOptions,
    Ram,
    ResultOptions,
    RunningOptions,
    open_model,
)

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@expand_groups
def fit(
    model: Model,
    requested: PredictedOptions,
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
    sizes = parse_memory("--memory", memory), parse_memory("--ram", ram)
    request = FitRequest(gpu, *sizes, running.run_settings(), hardware, dtype_name(requested.dtype))
    request.check()
    source = open_model(model, requested, output.quiet, [gpu] if gpu else [], hardware)
    result = fit_profile(source.profile, request, source)
    output.write(fit_answer(result, output.verbose))
