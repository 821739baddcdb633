"""Every model of the catalogue is counted: a small call of it works, leaves no operation out, and has its weights."""

from __future__ import annotations

import importlib.util
import inspect
from typing import Any

import pytest

import diffprof
from diffprof import catalogue
from diffprof.catalogue import Entry
from diffprof.errors import RequestError
from diffprof.pipelines.arguments import find_argument
from diffprof.pipelines.classes import pipeline_class

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


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.name for entry in ENTRIES])
def test_a_model_is_counted_with_its_parameters_and_nothing_left_out(entry: Entry) -> None:
    package = PACKAGES.get(entry.name)
    if package is not None and importlib.util.find_spec(package) is None:
        with pytest.raises(RequestError, match=f"pip install .*{package}"):
            diffprof.profile(entry.name, use_cache=False, **small_call(entry))
        return
    profile = diffprof.profile(entry.name, use_cache=False, **small_call(entry))
    published = {slot: (part.parameters, part.buffers) for slot, part in entry.components.items() if part.parameters}
    built = {
        slot: (part.parameters, part.buffers) for slot, part in profile.components.items() if slot in entry.components
    }
    assert built == published
    assert entry.denoiser is not None
    assert profile.steps.count >= 1
    assert profile.components[entry.denoiser.slot].macs > 0
    assert profile.ledger.unknown == {}
