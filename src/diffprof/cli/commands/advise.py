"""``diffprof advise MODEL --gpu NAME --goal time``"""

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
from diffprof.cli.output.predictions import advice_answer
from diffprof.cli.sources import open_model
from diffprof.record.request import parse_rate

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

LONGEST_SECONDS = 1e9

MaxMemory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Only options that need no more device memory than this: 16GB.")
]
MaxTime = Annotated[
    str | None, typer.Option(metavar="SECONDS", help="Only options that take no longer than this for one call.")
]


@app.command()
@expand_groups
def advise(
    model: Model,
    requested: PredictionOptions,
    running: RunningOptions,
    output: ResultOptions,
    gpu: Annotated[str, ACCELERATOR],
    goal: Annotated[str, typer.Option(metavar="GOAL", help="What to minimize: time, memory, cost or energy.")] = "time",
    max_memory: MaxMemory = None,
    max_time: MaxTime = None,
    ram: Ram = None,
    price: Annotated[str | None, typer.Option(metavar="USD", help="Price of the accelerator per hour.")] = None,
    hardware: Hardware = None,
) -> None:
    """Suggest changes that make a generation faster, smaller or cheaper on an accelerator.

    Changes are tried on the count; nothing is run. Of those that fit, the list has the ones that no other change of the
    same risk beats in both time and memory, with the code for each and the commands that print its figures again.
    docs/advice.md says what is tried.
    """
    from diffprof.advice.advise import AdviceRequest, advise_source
    from diffprof.advice.sizes import parse_memory

    output.check()
    request = AdviceRequest(
        gpu,
        goal,
        parse_memory("--max-memory", max_memory),
        None if max_time is None else parse_rate("--max-time", max_time, most=LONGEST_SECONDS),
        parse_memory("--ram", ram),
        running.run_settings(),
        None if price is None else parse_rate("--price", price, most=1e6),
        hardware,
    )
    request.check()
    result = advise_source(open_model(model, requested, output.quiet, [gpu], hardware), request)
    output.write(advice_answer(result, output.verbose))
