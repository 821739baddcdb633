"""The predicted memory and time of a profile on an accelerator, as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diffprof.advice.fit import FitRequest, fit_profile
from diffprof.advice.predict import PredictionRequest, predict_profile
from diffprof.advice.views.fit_charts import part_colours, stage_parts
from diffprof.advice.views.fit_tables import WHEN, verdict
from diffprof.advice.views.prediction_tables import LIMITED
from diffprof.app import views
from diffprof.catalogue.own_accelerators import known_accelerators
from diffprof.errors import RequestError
from diffprof.prediction.timeline import has_allocations
from diffprof.record.fit import Fit
from diffprof.record.prediction import PredictedTime
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.charts.style import component_colours
from diffprof.render.report.lead import card_row
from diffprof.render.report.markup import Markup, element
from diffprof.render.report.page import paragraph

FIRST_ACCELERATOR = "rtx-4090"
LEAST_NAMED = 0.001
"""Parts with a smaller share of the peak memory are not named in the legend: the bar is too short to show them."""


def accelerator_choice(name: str) -> Any:
    """A dropdown of all known accelerators."""
    import gradio as gr

    return gr.Dropdown(
        [entry.name for entry in known_accelerators()], value=FIRST_ACCELERATOR, label="Accelerator", elem_id=name,
        allow_custom_value=True, info="Memory and time are predicted for it.",
    )  # fmt: skip


@dataclass(frozen=True)
class AcceleratorOutcome:
    """The predicted memory and time of one generation on an accelerator."""

    fit: Fit | None
    """None if the profile has no allocations to predict memory from."""
    time: PredictedTime


def outcome_on(profile: Profile, accelerator: str) -> AcceleratorOutcome:
    """Predict the memory and the time of a generation."""
    fit = None
    if has_allocations(profile):
        fit = fit_profile(profile, FitRequest(accelerator=accelerator, with_changes=False))
    time = next(iter(predict_profile(profile, PredictionRequest((accelerator,))).accelerators.values()))
    return AcceleratorOutcome(fit, time)


def hardware_view(profile: Profile, accelerator: str | None) -> Markup:
    """The prediction as HTML: the memory bar, the numbers, and sentences about memory and time."""
    if not accelerator or not profile.total.macs:
        return views.NOTHING
    try:
        outcome = outcome_on(profile, accelerator)
    except RequestError as error:
        return views.notice(str(error))
    time = outcome.time
    interval = f"{numbers.estimate(time.low_seconds)} to {numbers.estimate(time.high_seconds)}"
    cards = [(numbers.estimate(time.total_seconds), f"expected time; {interval}")]
    if time.step_seconds:
        cards.append((numbers.estimate(time.step_seconds), "for each step"))
    parts = [element("h3", f"On {accelerator}")]
    if outcome.fit is not None:
        cards.insert(
            0, (numbers.gibibytes(outcome.fit.peak.device_bytes, brief=True), "of memory, as nvidia-smi shows it")
        )
        parts += [memory_bar(profile, outcome.fit), _legend(profile, outcome.fit), _where(outcome.fit)]
    parts.insert(1, card_row(cards))
    limit = f"Time: predicted for eager diffusers with all weights on the device, limited by {LIMITED[time.limited_by]}"
    return views.result(*parts, paragraph(f"{limit}. diffprof advise says what to change.", "notice"))


def memory_bar(profile: Profile, fit: Fit, whole_bytes: int = 0) -> Markup:
    """A bar of the peak memory by owner, in the colours of the components, with a mark where the card is full.

    The full width of the bar is `whole_bytes`, or more if that is not enough.
    """
    longest = max(needed_bytes(fit), whole_bytes)
    parts = [
        element("span", style=f"width:{100 * size / longest:.4g}%;background:{colour}", title=_part(name, size))
        for name, size, colour in _coloured_parts(profile, fit)
    ]
    full = fit.usable_bytes
    mark = element("i", style=f"left:{100 * full / longest:.4g}%") if full is not None else Markup()
    kind = "memory-bar" if fit.fits is not False else "memory-bar too-much"
    return element("div", *parts, mark, class_=kind, role="img", aria_label=f"Memory: it {verdict(fit)}.")


def needed_bytes(fit: Fit) -> int:
    """The width of a bar in bytes: the larger of the peak and the memory of the card."""
    return max(fit.peak.device_bytes, fit.usable_bytes or 0)


def _legend(profile: Profile, fit: Fit) -> Markup:
    """The name and size of each part that the bar shows, however little of the card they need together."""
    names = [
        element("span", element("i", style=f"background:{colour}"), _part(name, size))
        for name, size, colour in _coloured_parts(profile, fit)
        if size >= LEAST_NAMED * fit.peak.device_bytes
    ]
    return element("p", *names, class_="memory-legend")


def _part(name: str, size: int) -> str:
    return f"{name}, {numbers.gibibytes(size, brief=True)}"


def _where(fit: Fit) -> Markup:
    where = ".".join(part for part in (fit.peak.component, fit.peak.module) if part)
    kind = "changed" if fit.fits is False else None
    when = f"{WHEN[fit.peak.stage]}{f', in {where}' if where else ''}"
    return paragraph(f"Memory: it {verdict(fit)}. The peak is reached {when}.", kind)


def _coloured_parts(profile: Profile, fit: Fit) -> list[tuple[str, int, str]]:
    stage = next(stage for stage in fit.stages if stage.stage == fit.peak.stage)
    parts = stage_parts(stage)
    colours = part_colours(list(parts), component_colours(profile))
    return [(name, size, colours[name]) for name, size in parts.items() if size]
