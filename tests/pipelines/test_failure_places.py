"""Where in a component a call failed, and on what."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from diffprof.pipelines.failure_places import place_of_failure


class Attention(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.to_k = torch.nn.Linear(8, 4)

    def forward(self, hidden_states: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        return hidden_states + self.to_k(context)


class Denoiser(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([Attention()])

    def forward(self, sample: torch.Tensor, encoder_hidden_states: torch.Tensor) -> Any:
        for block in self.blocks:
            sample = block(sample * 2, encoder_hidden_states)
        return sample


def place(model: torch.nn.Module, *args: torch.Tensor, **kwargs: torch.Tensor) -> str:
    pipeline = SimpleNamespace(config={"unet": None}, unet=model, register_modules=None)
    try:
        model(*args, **kwargs)
    except RuntimeError as error:
        return place_of_failure(pipeline, error)
    raise AssertionError("it did not fail")


def test_the_layer_its_width_what_it_got_and_the_input_of_the_component_are_named() -> None:
    sentence = place(Denoiser(), torch.zeros(1, 3, 4), encoder_hidden_states=torch.zeros(1, 3, 7))
    assert sentence == ("unet.blocks.0.to_k, a Linear for 8 channels, got 1x3x7, the encoder_hidden_states of unet")


def test_what_was_computed_in_between_is_named_by_its_shape_alone() -> None:
    sentence = place(Denoiser(), torch.zeros(1, 3, 5), torch.zeros(1, 3, 8))
    assert sentence.startswith("unet.blocks.0, an Attention, got hidden_states 1x3x5, context 1x3x8")


def test_a_failure_outside_of_modules_has_no_place() -> None:
    pipeline = SimpleNamespace(config={"unet": None}, unet=Denoiser(), register_modules=None)
    assert place_of_failure(pipeline, RuntimeError("of the pipeline itself")) == ""
