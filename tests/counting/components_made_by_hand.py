"""A denoiser whose cost depends on the value of an input."""

from __future__ import annotations

from typing import Any

import torch
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
