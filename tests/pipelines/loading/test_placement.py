"""Where a pipeline runs: what this machine does not have is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from diffprof.errors import PipelineError, RequestError
from diffprof.pipelines.loading.placement import CPU, Target, place_pipeline, target_of
from diffprof.pipelines.loading.weights import load_pipeline
from tests.pipelines.loadable import generate_small, saved_with_weights
from tests.small_pipelines import SMALL_PIPELINES

CUDA = torch.device("cuda")


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: CUDA)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)


@pytest.mark.usefixtures("two_gpus")
def test_the_accelerator_is_the_default() -> None:
    assert target_of(None, None).device == CUDA
    assert target_of("cpu", None).device == CPU
    assert target_of("cuda:1", "model") == Target(torch.device("cuda:1"), "model")
    with pytest.raises(RequestError, match="this machine has 2 of that kind"):
        target_of("cuda:2", None)


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("device", "offload", "words"),
    [
        ("cuda", None, "this machine has no cuda device"),
        ("meta", None, "this machine has no meta device"),
        ("toaster", None, "unknown device 'toaster'"),
        (None, "model", "the pipeline runs on the CPU"),
        ("cpu", "sequential", "the pipeline runs on the CPU"),
        (None, "disk", "unknown offload mode 'disk'; there are model, sequential, group"),
    ],
)
def test_an_unavailable_device_or_offload_is_rejected(device: str | None, offload: str | None, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        target_of(device, offload)


@pytest.mark.usefixtures("no_gpu")
def test_without_an_accelerator_the_cpu_is_the_default() -> None:
    assert target_of(None, None) == Target(CPU)


def test_group_offload_works_on_the_cpu_and_changes_no_image(tmp_path: Path) -> None:
    folder = saved_with_weights("flux", tmp_path / "model")
    plain, offloaded = (load_pipeline(folder, device="cpu", offload=way).pipeline for way in (None, "group"))
    assert any(hasattr(module, "_diffusers_hook") for module in offloaded.transformer.modules())
    assert (generate_small("flux", plain) == generate_small("flux", offloaded)).all()


@pytest.mark.parametrize(("dtype", "kept"), [("float16", ["vae"]), ("bfloat16", [])])
def test_what_the_pipeline_casts_to_float32_is_not_offloaded_with_a_stream(
    dtype: str, kept: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion-xl"].build().to(getattr(torch, dtype))
    given: dict[str, Any] = {}
    monkeypatch.setattr(type(pipeline), "enable_group_offload", lambda self, device, **options: given.update(options))
    place_pipeline(pipeline, Target(CUDA, "group"))
    assert given == {"offload_type": "leaf_level", "use_stream": True, "exclude_modules": kept}


class Refusing:
    def enable_model_cpu_offload(self, **_: Any) -> None:
        raise ValueError("no order is known")


def test_a_pipeline_that_cannot_offload_says_so() -> None:
    with pytest.raises(PipelineError, match="Refusing cannot offload by model: no order is known"):
        place_pipeline(Refusing(), Target(CUDA, "model"))


@pytest.mark.parametrize("way", ["model", "sequential"])
def test_offloading_is_left_to_the_pipeline(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    calls: list[tuple[str, Any]] = []
    for name in ("model", "sequential"):
        monkeypatch.setattr(
            type(pipeline), f"enable_{name}_cpu_offload", lambda self, device, name=name: calls.append((name, device))
        )
    place_pipeline(pipeline, Target(CUDA, way))
    assert calls == [(way, CUDA)]
