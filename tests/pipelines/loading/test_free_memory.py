"""What a pipeline needs on each device is compared with what is free there."""

from __future__ import annotations

import pytest
import torch

from diffprof.errors import DiffprofError
from diffprof.pipelines.loading import free_memory
from diffprof.pipelines.loading.free_memory import check_memory
from diffprof.pipelines.loading.placement import CPU, Target

CUDA = torch.device("cuda")
WEIGHTS = {"unet": 8_000_000, "vae": 1_000_000}


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
def test_required_memory_is_compared_with_free_memory(
    target: Target, random: bool, free: dict[torch.device, int], refused_on: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(free_memory, "free_bytes", lambda device: free[device])
    if refused_on is None:
        check_memory("sd", WEIGHTS, 1_000_000, target, random)
        return
    with pytest.raises(DiffprofError, match=f"sd does not fit: it needs [0-9]+ MB on {refused_on} for its weights"):
        check_memory("sd", WEIGHTS, 1_000_000, target, random)


def test_a_gpu_says_how_much_of_its_memory_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (123, 456))
    assert free_memory.free_bytes(CUDA) == 123


def test_what_the_allocator_holds_and_does_not_use_is_free_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (100, 1000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 700)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 450)
    assert free_memory.free_bytes(CUDA) == 100 + (700 - 450)


def test_a_driver_that_does_not_say_what_is_free_is_no_reason_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(device: torch.device) -> tuple[int, int]:
        raise RuntimeError("The device doesn't support querying the available free memory.")

    monkeypatch.setattr(torch.xpu, "mem_get_info", refuse)
    assert free_memory.free_bytes(torch.device("xpu", 0)) is None
