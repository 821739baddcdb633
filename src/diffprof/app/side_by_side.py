"""A table of several models with the same slider values: cost, memory and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diffprof.app import views
from diffprof.app.address import PageState, write_address
from diffprof.app.hardware import AcceleratorOutcome, memory_bar, needed_bytes, outcome_on
from diffprof.app.model_choices import model_title
from diffprof.app.sliders import arguments_for, count_model
from diffprof.errors import DiffprofError, bounded_message
from diffprof.record.profile import Profile
from diffprof.record.progress import Progress
from diffprof.render import numbers
from diffprof.render.headline import headline
from diffprof.render.report.markup import Markup, element

MAX_MODELS = 5
HEADINGS = ("model", "time", "memory", "", "each step", "MACs", "parameters")
"""Predictions come first: a phone shows little more."""


@dataclass(frozen=True)
class ModelRow:
    """A row of the table: the profile of a model, or why there is none."""

    model: str
    profile: Profile | None
    problem: str = ""


def count_row(model: str, arguments: Mapping[str, Any], progress: Progress | None) -> ModelRow:
    """Count a model with those of the arguments that its pipeline takes."""
    try:
        own = count_model(model, {}, progress)
        given = arguments_for(own, arguments)
        return ModelRow(model, count_model(model, given, progress) if given else own)
    except DiffprofError as error:
        return ModelRow(model, None, bounded_message(str(error)))


def side_by_side(models: Sequence[ModelRow], state: PageState) -> Markup:
    """The table as HTML; each row links to the page of its model."""
    if len(models) < 2:
        return views.NOTHING
    outcomes = [_outcome(one, state.accelerator) for one in models]
    fits = [outcome.fit for outcome in outcomes if isinstance(outcome, AcceleratorOutcome) and outcome.fit is not None]
    whole = max(map(needed_bytes, fits), default=0)
    head = element("tr", *(element("th", name, scope="col") for name in HEADINGS))
    rows = [_row(one, outcome, state, whole) for one, outcome in zip(models, outcomes, strict=True)]
    table = element("table", element("thead", head), element("tbody", *rows))
    return views.result(
        element("h3", f"Side by side on {state.accelerator}"),
        element("div", table, class_="scroll side-by-side", tabindex="0"),
    )


def _outcome(one: ModelRow, accelerator: str) -> AcceleratorOutcome | str:
    """The prediction for the model on the accelerator, or why there is none."""
    if one.profile is None:
        return one.problem
    try:
        return outcome_on(one.profile, accelerator)
    except DiffprofError as error:
        return bounded_message(str(error))


def _row(one: ModelRow, outcome: AcceleratorOutcome | str, state: PageState, whole_bytes: int) -> Markup:
    others = tuple(name for name in state.models if name != one.model)
    address = write_address(PageState((one.model, *others), state.accelerator, state.arguments))
    name = element("a", model_title(one.model), href=address)
    profile = one.profile
    if profile is None or isinstance(outcome, str):
        return element("tr", element("td", name), element("td", str(outcome), colspan="6", class_="wrap"))
    _, _, request = headline(profile).partition(" · ")
    time = outcome.time
    return element(
        "tr",
        element("td", name, element("span", request, class_="below")),
        element("td", numbers.estimate(time.total_seconds)),
        *_memory_cells(profile, outcome, whole_bytes),
        element("td", numbers.estimate(time.step_seconds) if time.step_seconds else ""),
        element("td", numbers.short(profile.total.macs, brief=True)),
        element("td", numbers.parameters(profile.total.parameters, brief=True)),
    )


def _memory_cells(profile: Profile, outcome: AcceleratorOutcome, whole_bytes: int) -> list[Markup]:
    fit = outcome.fit
    if fit is None:
        return [element("td", ""), element("td", "")]
    verdict = {True: "fits", False: "does not fit", None: ""}[fit.fits]
    below = element("span", verdict, class_="below" if fit.fits is not False else "below changed")
    return [
        element("td", numbers.gibibytes(fit.peak.device_bytes, brief=True), below),
        element("td", memory_bar(profile, fit, whole_bytes), class_="bar-cell"),
    ]
