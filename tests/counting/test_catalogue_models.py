"""Every model of the catalogue has its weights, and a small call of it works and leaves no operation out."""

from __future__ import annotations

import importlib.util
import inspect
from typing import Any

import pytest

import diffprof
from diffprof import catalogue
from diffprof.catalogue import Entry
from diffprof.errors import RequestError
from diffprof.laws.law_file import models_with_laws
from diffprof.pipelines.arguments import find_argument
from diffprof.pipelines.components import components_of, persistent_buffers
from diffprof.pipelines.opening import open_virtual
from diffprof.pipelines.plans.classes import pipeline_class

ENTRIES = catalogue.entries()

SMALL = {"height": 256, "width": 256, "num_frames": 9, "num_inference_steps": 2}
OTHERWISE: dict[str, dict[str, Any]] = {
    "ace-step-1.5-base": {"audio_duration": 5.0},
    "ace-step-1.5-turbo": {"audio_duration": 5.0},
    "cogvideox-5b-i2v": {"height": 480, "width": 720},
    "sdxl-refiner": {"num_inference_steps": 4},
    "stable-cascade": {"prior_num_inference_steps": 2},
}
"""Where the small call is refused, or would take more than it shows."""


def small_call(entry: Entry) -> dict[str, Any]:
    parameters = inspect.signature(pipeline_class(entry.pipeline).__call__).parameters
    wanted = {**SMALL, **OTHERWISE.get(entry.name, {})}
    return {name: value for name, value in wanted.items() if find_argument(parameters, name)}


PACKAGES = {"stable-audio-open": "torchsde"}
"""Packages that a component of a model needs, and that diffprof does not bring along."""


def classes(entry: Entry) -> tuple[object, ...]:
    return entry.pipeline, *sorted((slot, part.class_name) for slot, part in entry.components.items())


OF_OTHER_CLASSES = list({classes(entry): entry for entry in reversed(ENTRIES)}.values())
"""One of all that run the same code: a second SDXL shows nothing that the first did not show."""
MAX_PARAMETERS = 10**10


def is_small(entry: Entry) -> bool:
    return sum(part.parameters or 0 for part in entry.components.values()) < MAX_PARAMETERS


COUNTED = [entry for entry in OF_OTHER_CLASSES if is_small(entry) and entry.name not in models_with_laws()]
"""Models with a law were counted when it was proved; ``examples/every_model.py`` counts all, which takes minutes."""
BUILT = [entry for entry in ENTRIES if entry not in COUNTED]


def published_weights(entry: Entry) -> dict[str, tuple[int | None, int | None]]:
    """Parameters and buffers of each model, as the catalogue has them."""
    return {slot: (part.parameters, part.buffers) for slot, part in entry.components.items() if part.parameters}


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(entry, id=entry.name, marks=() if entry in OF_OTHER_CLASSES else pytest.mark.extensive)
        for entry in BUILT
    ],
)
def test_a_model_is_built_with_its_parameters(entry: Entry) -> None:
    models = components_of(open_virtual(entry.name, None, None).pipeline)
    assert published_weights(entry) == {
        slot: (sum(one.numel() for one in model.parameters()), sum(one.numel() for one in persistent_buffers(model)))
        for slot, model in models.items()
        if slot in entry.components
    }


@pytest.mark.parametrize("entry", COUNTED, ids=[entry.name for entry in COUNTED])
def test_a_model_is_counted_with_its_parameters_and_nothing_left_out(entry: Entry) -> None:
    package = PACKAGES.get(entry.name)
    if package is not None and importlib.util.find_spec(package) is None:
        with pytest.raises(RequestError, match=f"pip install .*{package}"):
            diffprof.profile(entry.name, use_cache=False, **small_call(entry))
        return
    profile = diffprof.profile(entry.name, use_cache=False, **small_call(entry))
    assert published_weights(entry) == {
        slot: (part.parameters, part.buffers) for slot, part in profile.components.items() if slot in entry.components
    }
    assert entry.denoiser is not None
    assert profile.steps.count >= 1
    assert profile.components[entry.denoiser.slot].macs > 0
    assert profile.ledger.unknown == {}
