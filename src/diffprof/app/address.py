"""The tab Profile in the address of the page: a link opens the models, the accelerator and the sliders again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from urllib.parse import quote, urlencode

SLIDER_NAMES = {
    "width": "width",
    "height": "height",
    "steps": "num_inference_steps",
    "guidance": "guidance_scale",
    "batch": "num_images_per_prompt",
    "frames": "num_frames",
}
"""What a slider's argument is called in the address; the calculator's links say the same."""


@dataclass(frozen=True)
class PageState:
    """What the tab shows."""

    models: tuple[str, ...]
    """The one that is shown, and those beside it."""
    accelerator: str
    arguments: Mapping[str, float] = field(default_factory=dict)
    """Of the sliders that were moved; the others are as the model recommends."""


def read_address(query: Mapping[str, str], otherwise: PageState) -> PageState:
    """The state of an address; what it does not say is as in `otherwise`."""
    models = tuple(dict.fromkeys(filter(None, map(str.strip, query.get("model", "").split(",")))))
    numbers = {argument: _number(query.get(name, "")) for name, argument in SLIDER_NAMES.items()}
    return PageState(
        models or otherwise.models,
        query.get("gpu", "").strip() or otherwise.accelerator,
        {argument: value for argument, value in numbers.items() if value is not None},
    )


def write_address(state: PageState) -> str:
    """The address of a state: ``?model=flux.1-dev,sdxl&gpu=rtx-4090&height=768``."""
    given = {name: state.arguments[own] for name, own in SLIDER_NAMES.items() if own in state.arguments}
    query = {"model": ",".join(state.models), "gpu": state.accelerator, **given}
    return "?" + urlencode(query, safe=",/", quote_via=quote)


def _number(text: str) -> float | None:
    """A number as a slider has it; what is none is left out, as a link may come from anywhere."""
    try:
        number = float(text)
    except ValueError:
        return None
    if not isfinite(number):
        return None
    return int(number) if number.is_integer() else number
