"""``diffprof predict MODEL --gpu NAME[,NAME]``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.advice.views.prediction_tables import PredictionTable
from diffprof.cli import completion, options
from diffprof.cli.option_groups import expand_groups
from diffprof.cli.predicted_answers import prediction_answer
from diffprof.cli.running_options import (
    Hardware,
    Model,
    PredictedOptions,
    Price,
    ResultOptions,
    RunningOptions,
    open_model,
    parse_prices,
)

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
    requested: PredictedOptions,
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
    from diffprof.cli.saved_profile import load_named
    from diffprof.settings.limits import dtype_name

    output.check()
    request = PredictionRequest(
        options.accelerator_names(gpu), running.run_settings(), parse_prices(price), hardware,
        dtype_name(requested.dtype),
    )  # fmt: skip
    measured = load_named(profile) if profile is not None else None
    if measured is None:
        check_request(request)
    # Of several, each must lack the model's dtype: one count is for all of them.
    named = request.accelerators if measured is None else ()
    source = open_model(model, requested, output.quiet, named, hardware)
    result = predict_profile(source.profile, request, measured)
    output.write(prediction_answer(result, by, output.verbose))
