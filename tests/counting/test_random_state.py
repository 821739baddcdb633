"""Counting draws no random numbers: those of every device go on as if it had not been."""

from __future__ import annotations

import types

import pytest
import torch

from diffprof.counting.pipeline_state import RandomState


class DeviceNumbers:
    """Stands in for the random numbers of a device: a state that every draw moves on."""

    def __init__(self) -> None:
        self.state = 7

    def get(self) -> int:
        return self.state

    def set(self, state: int) -> None:
        self.state = state


@pytest.mark.parametrize("kind", ["cuda", "xpu", "mps"])
def test_random_numbers_of_every_kind_of_device_are_restored(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, all_of_them = DeviceNumbers(), "" if kind == "mps" else "_all"
    backend = getattr(torch, kind)
    monkeypatch.setattr(backend, f"get_rng_state{all_of_them}", numbers.get)
    monkeypatch.setattr(backend, f"set_rng_state{all_of_them}", numbers.set)
    if kind == "mps":
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    else:
        monkeypatch.setattr(backend, "is_initialized", lambda: True)
    state = RandomState({})
    numbers.state += 1
    state.restore()
    assert numbers.state == 7


def test_random_numbers_of_a_device_of_somebodys_own_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = DeviceNumbers()
    backend = types.SimpleNamespace(
        is_initialized=lambda: True, get_rng_state_all=numbers.get, set_rng_state_all=numbers.set
    )
    monkeypatch.setattr(torch, "npu", backend, raising=False)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: types.SimpleNamespace(type="npu"))
    state = RandomState({})
    numbers.state += 1
    state.restore()
    assert numbers.state == 7


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_random_numbers_of_a_device_that_came_into_use_meanwhile_begin_again(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with an offloaded pipeline, whose first call is what initializes the device."""
    backend = getattr(torch, kind)
    state = RandomState({})
    own = torch.Generator().manual_seed(11)  # as torch.manual_seed(11) has it, which is kept for later
    monkeypatch.setattr(backend, "is_initialized", lambda: True)
    monkeypatch.setattr(backend, "default_generators", (own,))
    first = torch.rand(3, generator=own)
    state.restore()
    assert torch.equal(torch.rand(3, generator=own), first)
