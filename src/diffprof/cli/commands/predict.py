"""``diffprof predict MODEL --gpu NAME[,NAME]``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.advice.views.prediction_tables import PredictionTable
from diffprof.cli.options import completion
from diffprof.cli.options import declarations as options
from diffprof.cli.options.groups import expand_groups
from diffprof.cli.options.prediction import (
    Hardware,
    Model,
    PredictionOptions,
    Price,
    RunningOptions,
    parse_prices,
)
from diffprof.cli.output.answer import ResultOptions
from diffprof.cli.output.predictions import prediction_answer
from diffprof.cli.sources import load_saved_profile, open_model

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

Accelerators = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[,NAME]",
        help="Accelerators of `diffprof hardware`, or all. By default a selection.",
        autocompletion=completion.accelerator_names,
    ),
]
By = Annotated[PredictionTable | None, typer.Option(help="Only the table with these rows.", show_default=False)]
MeasuredRun = Annotated[
    Path | None,
    typer.Option("--profile", metavar="FILE", help="A measured run, which corrects the prediction for its machine."),
]


@app.command()
@expand_groups
def predict(
    model: Model,
    requested: PredictionOptions,
    running: RunningOptions,
    output: ResultOptions,
    gpu: Accelerators = None,
    by: By = None,
    profile: MeasuredRun = None,
    price: Price = None,
    hardware: Hardware = None,
) -> None:
    """Predict how long a generation takes on any accelerator.

    The count is combined with what accelerators are known to achieve. docs/prediction.md says how, and how far to trust
    it.
    """
    from diffprof.advice.predict import PredictionRequest, check_request, predict_profile
    from diffprof.settings.limits import dtype_name

    output.check()
    request = PredictionRequest(
        options.accelerator_names(gpu), running.run_settings(), parse_prices(price), hardware,
        dtype_name(requested.dtype),
    )  # fmt: skip
    measured = load_saved_profile(profile) if profile is not None else None
    if measured is None:
        check_request(request)
    # One count serves all accelerators, so its dtype changes only if none of them supports the model's own.
    accelerators = request.accelerators if measured is None else ()
    source = open_model(model, requested, output.quiet, accelerators, hardware)
    result = predict_profile(source.profile, request, measured)
    output.write(prediction_answer(result, by, output.verbose))
