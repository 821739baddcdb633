"""Models with a cost that depends on values: a denoiser that reads an input, and a mixture of experts."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from diffusers import UNet2DConditionModel


class ReadingUNet(UNet2DConditionModel):  # type: ignore[misc]
    """Multiplies the text by a matrix first, while the timestep is above a threshold."""

    threshold: int
    matrix: torch.nn.Linear

    def forward(self, sample: Any, timestep: Any, encoder_hidden_states: Any, **options: Any) -> Any:
        if timestep > self.threshold:
            encoder_hidden_states = self.matrix(encoder_hidden_states)
        return super().forward(sample, timestep, encoder_hidden_states, **options)


# It passes for a class of the library: code of other origin is counted at every call anyway.
ReadingUNet.__module__ = UNet2DConditionModel.__module__


def reading_unet(unet: Any, threshold: int) -> Any:
    unet.__class__ = ReadingUNet
    unet.threshold = threshold
    unet.matrix = torch.nn.Linear(32, 32, bias=False)
    return unet


class Experts(torch.nn.Module):
    """A mixture of experts as models write it: route, pick the top k, and run each expert on its tokens."""

    def __init__(self, width: int, hidden: int, experts: int, chosen: int) -> None:
        super().__init__()
        self.chosen = chosen
        self.router = torch.nn.Linear(width, experts, bias=False)
        self.up = torch.nn.ModuleList(torch.nn.Linear(width, hidden, bias=False) for _ in range(experts))
        self.down = torch.nn.ModuleList(torch.nn.Linear(hidden, width, bias=False) for _ in range(experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, choice = self.router(x).softmax(-1).topk(self.chosen, dim=-1)
        out = torch.zeros_like(x)
        for number, (up, down) in enumerate(zip(self.up, self.down, strict=True)):
            rows, places = torch.where(choice == number)
            if len(rows):
                out.index_add_(0, rows, down(F.silu(up(x[rows]))) * weights[rows, places, None])
        return out
