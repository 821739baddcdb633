"""Where a pipeline runs: what this machine does not have is refused, and what is free is compared with the need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from diffprof.errors import DiffprofError, PipelineError, RequestError
from diffprof.pipelines import free_memory as room
from diffprof.pipelines.free_memory import check_memory
from diffprof.pipelines.placement import CPU, Target, place_pipeline, target_of
from diffprof.pipelines.weights import load_pipeline
from tests.pipelines.loadable import generated, saved_with_weights
from tests.small_pipelines import SMALL_PIPELINES

CUDA = torch.device("cuda")
WEIGHTS = {"unet": 8_000_000, "vae": 1_000_000}


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
        (None, "disk", "unknown way to offload 'disk'; there are model, sequential, group"),
    ],
)
def test_what_is_not_there_is_refused(device: str | None, offload: str | None, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        target_of(device, offload)


@pytest.mark.usefixtures("no_gpu")
def test_without_an_accelerator_the_cpu_is_the_default() -> None:
    assert target_of(None, None) == Target(CPU)


def test_group_offload_works_on_the_cpu_and_changes_no_picture(tmp_path: Path) -> None:
    folder = saved_with_weights("flux", tmp_path / "model")
    plain, offloaded = (load_pipeline(folder, device="cpu", offload=way).pipeline for way in (None, "group"))
    assert any(hasattr(module, "_diffusers_hook") for module in offloaded.transformer.modules())
    assert (generated("flux", plain) == generated("flux", offloaded)).all()


class Refusing:
    def enable_model_cpu_offload(self, **_: Any) -> None:
        raise ValueError("no order is known")


def test_a_pipeline_that_cannot_offload_says_so() -> None:
    with pytest.raises(PipelineError, match="Refusing cannot offload by model: no order is known"):
        place_pipeline(Refusing(), Target(CUDA, "model"))


@pytest.mark.parametrize("way", ["model", "sequential"])
def test_offloading_is_left_to_the_pipeline(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    asked: list[tuple[str, Any]] = []
    for name in ("model", "sequential"):
        monkeypatch.setattr(
            type(pipeline), f"enable_{name}_cpu_offload", lambda self, device, name=name: asked.append((name, device))
        )
    place_pipeline(pipeline, Target(CUDA, way))
    assert asked == [(way, CUDA)]


@pytest.mark.parametrize(
    ("target", "random", "free", "refused_on"),
    [
        (Target(CPU), False, {CPU: 10_000_000}, None),
        (Target(CPU), False, {CPU: 9_999_999}, "cpu"),
        (Target(CUDA), False, {CPU: 8_000_000, CUDA: 10_000_000}, None),
        (Target(CUDA), False, {CPU: 8_000_000, CUDA: 9_999_999}, "cuda"),
        (Target(CUDA), False, {CPU: 7_999_999, CUDA: 10_000_000}, "cpu"),
        (Target(CUDA), True, {CPU: 0, CUDA: 10_000_000}, None),
        (Target(CUDA, "model"), False, {CPU: 9_000_000, CUDA: 9_000_000}, None),
        (Target(CUDA, "model"), False, {CPU: 9_000_000, CUDA: 8_999_999}, "cuda"),
        (Target(CUDA, "sequential"), False, {CPU: 9_000_000, CUDA: 1_000_000}, None),
        (Target(CUDA, "group"), False, {CPU: 8_999_999, CUDA: 1_000_000}, "cpu"),
        (Target(CUDA), False, {CPU: None, CUDA: None}, None),
    ],
)
def test_what_is_needed_is_compared_with_what_is_free(
    target: Target, random: bool, free: dict[torch.device, int], refused_on: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "free_bytes", lambda device: free[device])
    if refused_on is None:
        check_memory("sd", WEIGHTS, 1_000_000, target, random)
        return
    with pytest.raises(DiffprofError, match=f"sd does not fit: it needs [0-9]+ MB on {refused_on} for its weights"):
        check_memory("sd", WEIGHTS, 1_000_000, target, random)


def test_a_gpu_is_asked_for_its_own_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (123, 456))
    assert room.free_bytes(CUDA) == 123
