"""What an accelerator makes of the profile that is shown: its choice, and memory and time as HTML."""

from __future__ import annotations

from typing import Any

from diffprof.advice.fit import FitRequest, fit_profile
from diffprof.advice.predict import PredictionRequest, predict_profile
from diffprof.advice.views.fit_tables import STAGE_NAMES, verdict
from diffprof.advice.views.prediction_tables import LIMITED
from diffprof.app import views
from diffprof.catalogue.own_accelerators import known_accelerators
from diffprof.errors import RequestError
from diffprof.prediction.timeline import has_allocations
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.report.markup import Markup, element
from diffprof.render.report.page import paragraph

FIRST_ACCELERATOR = "rtx-4090"


def accelerator_choice(name: str) -> Any:
    """A list of all accelerators that are known."""
    import gradio as gr

    return gr.Dropdown(
        [entry.name for entry in known_accelerators()], value=FIRST_ACCELERATOR, label="Accelerator", elem_id=name,
        allow_custom_value=True, info="Memory and time are predicted for it.",
    )  # fmt: skip


def hardware_view(profile: Profile, accelerator: str | None) -> Markup:
    """Memory and time of the generation on the accelerator, in numbers and in a sentence each."""
    if not accelerator or not profile.total.macs:
        return views.NOTHING
    try:
        cards, lines = _memory(profile, accelerator)
        more_cards, more_lines = _time(profile, accelerator)
    except RequestError as error:
        return views.notice(str(error))
    divs = [
        element("div", element("b", value), element("span", label), class_="card")
        for value, label in (*cards, *more_cards)
    ]
    sentences = [paragraph(line) for line in (*lines, *more_lines)]
    return views.result(element("h3", f"On {accelerator}"), element("div", *divs, class_="cards"), *sentences)


_Shown = tuple[list[tuple[str, str]], list[str]]


def _memory(profile: Profile, accelerator: str) -> _Shown:
    if not has_allocations(profile):
        return [], []
    fit = fit_profile(profile, FitRequest(accelerator=accelerator, with_changes=False))
    where = ".".join(part for part in (fit.peak.component, fit.peak.module) if part)
    line = (
        f"Memory: it {verdict(fit)}. The peak is while {STAGE_NAMES[fit.peak.stage]}{f', in {where}' if where else ''}."
    )
    return [(numbers.gibibytes(fit.peak.device_bytes), "of memory, as nvidia-smi shows it")], [line]


def _time(profile: Profile, accelerator: str) -> _Shown:
    time = next(iter(predict_profile(profile, PredictionRequest((accelerator,))).accelerators.values()))
    interval = f"{numbers.estimate(time.low_seconds)} to {numbers.estimate(time.high_seconds)}"
    cards = [(numbers.estimate(time.total_seconds), f"expected; {interval}")]
    if time.step_seconds:
        cards.append((numbers.estimate(time.step_seconds), "for each step"))
    line = (
        f"Time: predicted for eager diffusers with all weights on the device, limited by {LIMITED[time.limited_by]}. "
        "diffprof advise says what to change."
    )
    return cards, [line]
