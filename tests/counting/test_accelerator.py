"""A live pipeline that computes on a GPU is counted on the host: nothing of a dry run touches the device.

There is no GPU here, and any real use of one would fail: asking for it raises.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import diffprof
from tests.extensive import split_cases
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
@pytest.mark.parametrize("name", split_cases(NAMES, always=("stable-diffusion", "flux", "kandinsky-2.2-combined")))
def test_a_pipeline_on_a_gpu_costs_what_it_costs_on_the_cpu(name: str) -> None:
    small = SMALL_PIPELINES[name]
    on_cpu = diffprof.profile(small.build(), **small.arguments())
    counted = diffprof.profile(on_a_gpu(small.build()), **small.arguments())
    assert [(call.component, call.macs) for call in counted.calls] == [
        (call.component, call.macs) for call in on_cpu.calls
    ]
    assert counted.total == on_cpu.total


@pytest.mark.skipif(torch.cuda.is_available(), reason="the device must be missing for this to show anything")
def test_what_is_created_where_the_gpu_is_the_default_device_stays_on_the_host() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    expected = diffprof.profile(small.build(), **small.arguments())
    pipeline, arguments = on_a_gpu(small.build()), small.arguments()
    torch.set_default_device("cuda")
    try:
        assert diffprof.profile(pipeline, **arguments).total == expected.total
        assert torch.device("cuda") == torch.utils._device.CURRENT_DEVICE, "it is still the default"
    finally:
        torch.set_default_device(None)


class GeneratorOnGpu(torch.Generator):
    """A generator that says it belongs to a GPU, and fails when numbers are drawn on the host."""

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", 0)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the device must be missing for this to show anything")
@pytest.mark.parametrize("several", [False, True], ids=["one", "list"])
@pytest.mark.parametrize("name", ["stable-diffusion", "stable-diffusion-img2img"])
def test_a_generator_of_a_gpu_is_not_refused(name: str, several: bool) -> None:
    small = SMALL_PIPELINES[name]
    generator = GeneratorOnGpu().manual_seed(7)
    before = generator.get_state()
    on_gpu, on_cpu = ([one] if several else one for one in (generator, torch.Generator()))
    counted = diffprof.profile(on_a_gpu(small.build()), **{**small.arguments(), "generator": on_gpu})
    assert counted.total == diffprof.profile(small.build(), **{**small.arguments(), "generator": on_cpu}).total
    assert torch.equal(generator.get_state(), before)
