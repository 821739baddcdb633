"""The devices of a pipeline are found by its hooks, its map and its weights, and checked before every call."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diffprof.runtime.instrumentation import pipeline_devices
from diffprof.runtime.instrumentation.pipeline_devices import DeviceWatch, further_devices
from diffprof.runtime.timing.devices import TorchSearch


def part(**attributes: Any) -> torch.nn.Module:
    module = torch.nn.Linear(1, 1)
    for name, value in attributes.items():
        object.__setattr__(module, name, value)
    return module


class Pipeline:
    """A pipeline whose components lie where a test says."""

    def __init__(self, device: str, **parts: torch.nn.Module) -> None:
        self._execution_device = torch.device(device)
        self.config = dict.fromkeys(parts)
        vars(self).update(parts)


def hook(device: Any) -> Any:
    return SimpleNamespace(execution_device=device)


def test_each_component_is_found_where_it_computes() -> None:
    pipeline = Pipeline(
        "cuda:0",
        text_encoder=part(_hf_hook=hook(1)),
        transformer=part(_hf_hook=hook("cuda:0")),
        image_encoder=part(hf_device_map={"a": 0, "b": 2}),
        vae=part(_hf_hook=SimpleNamespace(hooks=[hook(torch.device("cuda", 1))])),
        safety_checker=part(),
    )
    assert further_devices(pipeline, torch.device("cuda", 0)) == {
        "text_encoder": torch.device("cuda", 1),
        "image_encoder": torch.device("cuda", 2),
        "vae": torch.device("cuda", 1),
    }


def test_a_pipeline_on_the_host_has_no_further_devices() -> None:
    assert further_devices(Pipeline("cpu", unet=part()), torch.device("cpu")) == {}


def test_a_map_of_devices_that_did_not_fit_leaves_components_on_the_cpu() -> None:
    parts = {"text_encoder": part(_hf_hook=hook("cpu")), "transformer": part(_hf_hook=hook(0)), "vae": part()}
    cpu, gpu = torch.device("cpu"), torch.device("cuda", 0)
    assert further_devices(Pipeline("cuda:0", **parts), gpu) == {"text_encoder": cpu}
    assert further_devices(Pipeline("cpu", **parts), cpu) == {"transformer": gpu}


def test_a_device_without_a_number_is_the_current_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As group offload names it."""
    pipeline = Pipeline("cuda", transformer=part(_hf_hook=hook("cuda:0")), vae=part(_hf_hook=hook("cuda:1")))
    assert further_devices(pipeline, torch.device("cuda")) == {}, "none is in use yet"
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    assert further_devices(pipeline, torch.device("cuda")) == {"vae": torch.device("cuda", 1)}


def test_a_device_that_comes_into_use_in_the_first_call_is_found_before_the_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As with ``enable_model_cpu_offload`` in a fresh script."""
    found: list[bool] = [False]
    accelerator = SimpleNamespace(reading_waits=False)

    class Search(TorchSearch):
        def __call__(self) -> Any:
            return (accelerator, True) if found[0] else (None, False)

    monkeypatch.setattr(pipeline_devices, "TorchSearch", Search)
    watch = DeviceWatch(Pipeline("cuda:0", unet=part()))
    timer, _, _ = watch.refresh()
    assert timer is not None and timer.accelerator is None
    found[0] = True
    again, _, _ = watch.refresh()
    assert again is timer
    assert timer.accelerator is accelerator


def test_a_pipeline_that_is_moved_is_timed_where_it_is() -> None:
    pipeline = Pipeline("cpu", unet=part())
    watch = DeviceWatch(pipeline)
    assert watch.refresh()[0] is None
    pipeline._execution_device = torch.device("cuda", 1)
    pipeline.vae = part(_hf_hook=hook(0))
    timer, _, others = watch.refresh()
    assert timer is not None
    assert {slot: other.name for slot, other in others.items()} == {"vae": "cuda:0"}
