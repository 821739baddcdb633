"""A live pipeline that computes on a GPU is counted on the host: nothing of a dry run touches the device.

There is no GPU here, and any real use of one would fail: asking for it raises.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import diffprof
from diffprof.counting.operations.functions import is_accelerator
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.counting.operations.virtual import VirtualMode
from tests.small_pipelines import SMALL_PIPELINES

NAMES = [
    "stable-diffusion", "stable-diffusion-xl", "stable-diffusion-3", "flux", "sana", "pixart-sigma", "wan-2.1",
    "cogvideox", "ltx", "kandinsky-2.2-combined", "stable-cascade-combined", "stable-diffusion-controlnet",
    "stable-diffusion-img2img", "stable-video-diffusion", "qwen-image", "hunyuan-dit",
]  # fmt: skip


def on_a_gpu(pipeline: Any) -> Any:
    """The same pipeline, which says that it computes on a GPU."""
    gpu = property(lambda pipeline: torch.device("cuda", 0))
    pipeline.__class__ = type(type(pipeline).__name__, (type(pipeline),), {"device": gpu, "_execution_device": gpu})
    return pipeline


@pytest.mark.skipif(torch.cuda.is_available(), reason="the device must be missing for this to show anything")
@pytest.mark.parametrize("name", NAMES)
def test_a_pipeline_on_a_gpu_costs_what_it_costs_on_the_cpu(name: str) -> None:
    small = SMALL_PIPELINES[name]
    on_cpu = diffprof.profile(small.build(), **small.arguments())
    counted = diffprof.profile(on_a_gpu(small.build()), **small.arguments())
    assert [(call.component, call.macs) for call in counted.calls] == [
        (call.component, call.macs) for call in on_cpu.calls
    ]
    assert counted.total == on_cpu.total


@pytest.mark.parametrize(
    ("device", "expected"),
    [("cuda", True), ("cuda:1", True), (torch.device("xpu"), True), (0, True), ("cpu", False), ("meta", False),
     (torch.device("cpu"), False), (None, False)],
)  # fmt: skip
def test_what_an_accelerator_is(device: Any, expected: bool) -> None:
    assert is_accelerator(device) is expected


class Elsewhere(torch.Tensor):
    """Lies on a GPU, as far as anybody can tell; fetched, it is an ordinary tensor."""

    is_cpu = False
    is_meta = False

    def cpu(self) -> torch.Tensor:  # type: ignore[override]
        return torch.ones(2)


def test_real_tensors_on_the_device_are_fetched_and_weights_are_not() -> None:
    table, weight = torch.Tensor._make_subclass(Elsewhere, torch.zeros(2)), torch.nn.Parameter(torch.zeros(2))
    mode = VirtualMode(OperationRecorder(), frozenset({id(weight)}), on_accelerator=True)
    fetched = mode._fetch({"a": (table, [weight, 3])})
    assert type(fetched["a"][0]) is torch.Tensor
    assert fetched["a"][0].tolist() == [1, 1]
    assert fetched["a"][1][0] is weight
    assert fetched["a"][1][1] == 3
