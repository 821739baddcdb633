"""The state of the Profile tab in the page's address, so that a link restores models, accelerator and sliders."""

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
"""The name of each slider's argument in the address; the static calculator uses the same names."""


@dataclass(frozen=True)
class PageState:
    """The state of the tab."""

    models: tuple[str, ...]
    """The model that is shown, then those side by side with it."""
    accelerator: str
    arguments: Mapping[str, float] = field(default_factory=dict)
    """Values of the sliders that were moved; the others have the model's recommended values."""


def read_address(query: Mapping[str, str], otherwise: PageState) -> PageState:
    """Read the state from the query of an address; missing parts are taken from `otherwise`."""
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
    """Parse the value of a slider; None for anything else, as links can come from anywhere."""
    try:
        number = float(text)
    except ValueError:
        return None
    if not isfinite(number):
        return None
    return int(number) if number.is_integer() else number
