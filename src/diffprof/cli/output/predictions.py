"""The answers of ``fit``, ``predict`` and ``advise`` in every output format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from diffprof.cli.output.answer import Answer

if TYPE_CHECKING:
    from rich.console import Console

    from diffprof.advice.views.prediction_tables import PredictionTable
    from diffprof.record.advice import Advice
    from diffprof.record.fit import Fit
    from diffprof.record.prediction import Prediction
    from diffprof.record.results import Result


def fit_answer(fit: Fit, verbose: bool) -> Answer:
    """The answer of ``diffprof fit``."""
    from diffprof.advice.views.fit_views import fit_csv, fit_markdown, print_fit

    return _result_answer(
        fit, lambda: fit_csv(fit), lambda: fit_markdown(fit), lambda console: print_fit(fit, console, verbose)
    )


def prediction_answer(prediction: Prediction, by: PredictionTable | None, verbose: bool) -> Answer:
    """The answer of ``diffprof predict``, with one table or all of them."""
    from diffprof.advice.views import prediction_tables as tables
    from diffprof.advice.views.prediction_console import prediction_markdown, print_prediction
    from diffprof.advice.views.prediction_data import prediction_csv

    return _result_answer(
        prediction,
        lambda: prediction_csv(prediction, by or tables.PredictionTable.accelerator),
        lambda: prediction_markdown(prediction, by, verbose),
        lambda console: print_prediction(prediction, console, by, verbose),
    )


def advice_answer(advice: Advice, verbose: bool) -> Answer:
    """The answer of ``diffprof advise``."""
    from diffprof.advice.views.advice_views import advice_csv, advice_markdown, print_advice

    return _result_answer(
        advice,
        lambda: advice_csv(advice),
        lambda: advice_markdown(advice),
        lambda console: print_advice(advice, console, verbose),
    )


def saved_answer(command: str, file: Path, verbose: bool) -> Answer:
    """Load the answer that the command wrote to the file."""
    from diffprof.record.advice import Advice
    from diffprof.record.fit import Fit
    from diffprof.record.prediction import Prediction

    if command == "fit":
        return fit_answer(Fit.load(file), verbose)
    if command == "predict":
        return prediction_answer(Prediction.load(file), None, verbose)
    return advice_answer(Advice.load(file), verbose)


def _result_answer(
    result: Result, csv: Callable[[], str], markdown: Callable[[], str], show: Callable[[Console], None]
) -> Answer:
    return Answer(show, result.to_json, csv, markdown, {".html": lambda: result.to_html().encode()})
