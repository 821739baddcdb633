"""The request in one line, for the title of an answer and the heading of its page."""

from __future__ import annotations

from collections.abc import Iterator

from diffprof.record.advice import Advice
from diffprof.record.changes import EVERY
from diffprof.record.fit import Fit
from diffprof.record.prediction import Prediction
from diffprof.record.run_settings import RunSettings
from diffprof.render import numbers
from diffprof.render.request_line import SEPARATOR, request_parts, token_words

Answer = Fit | Prediction | Advice


def request_lines(answer: Answer) -> list[str]:
    """How the model is called; nothing where the answer was saved by an earlier version."""
    parts = _parts(answer)
    return [SEPARATOR.join(parts)] if parts else []


def heading(answer: Answer) -> str:
    """The same after the name of the model."""
    return SEPARATOR.join([answer.model, *_parts(answer)])


def _parts(answer: Answer) -> list[str]:
    if answer.request is None or answer.execution is None:
        return []
    parts = [*request_parts(answer.request, answer.execution), *(f"{name} on" for name in answer.request.enable)]
    if answer.request.scheduler:
        parts.append(answer.request.scheduler)
    return [part for part in (*parts, token_words(answer.execution)) if part]


def run_lines(settings: RunSettings) -> list[str]:
    """How it is run, where that is not the usual way."""
    words = ", ".join(setting_words(settings))
    return [f"run {'' if words.startswith('without ') else 'with '}{words}"] if words else []


def setting_words(settings: RunSettings) -> Iterator[str]:
    """How it is run, each in a few words; nothing for what is usual."""
    if settings.attention == "math":
        yield "unfused attention"
    if settings.offload != "none":
        yield f"{settings.offload} offload{_groups(settings)}"
    if settings.drop_text_encoders:
        yield "text encoders dropped after use"
    if settings.devices > 1:
        yield f"{settings.devices} devices"
    for component, scheme in settings.quantize.items():
        yield f"{_component_words(component)} in {scheme}"
    for component, dtype in settings.layerwise.items():
        yield f"layers of {_component_words(component)} kept in {dtype}"
    if settings.skip_rate:
        yield f"{numbers.percent(settings.skip_rate)} of the denoiser's calls skipped"
    if settings.without:
        yield f"without {' and '.join(settings.without)}"


def _groups(settings: RunSettings) -> str:
    if settings.use_stream or not settings.offload.startswith("group"):
        return ""
    blocks = f", {settings.blocks_per_group} blocks at a time" if settings.blocks_per_group > 1 else ""
    return f" without a stream{blocks}"


def _component_words(component: str) -> str:
    return "components" if component == EVERY else component
