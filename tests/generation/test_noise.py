"""Random numbers of a generation."""

from __future__ import annotations

import pytest
import torch

from diffprof.generation.noise import new_generator, torch_seed


def draw() -> float:
    return float(torch.rand(1))


def test_the_same_seed_gives_the_same_noise_on_the_cpu() -> None:
    one, again, other = (torch.rand(3, generator=new_generator(seed)) for seed in (5, 5, 6))
    assert torch.equal(one, again) and not torch.equal(one, other)
    assert new_generator(5).device.type == "cpu"


def test_the_random_state_of_the_program_comes_back() -> None:
    before = torch.random.get_rng_state()
    with torch_seed(5):
        first = draw()
    with pytest.raises(ValueError, match="inside"), torch_seed(5):
        assert draw() == first
        raise ValueError("inside")
    assert torch.equal(torch.random.get_rng_state(), before)


def test_it_comes_back_when_the_last_of_several_leaves() -> None:
    before = torch.random.get_rng_state()
    with torch_seed(5):
        with torch_seed(6):
            draw()
        assert not torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(torch.random.get_rng_state(), before)
