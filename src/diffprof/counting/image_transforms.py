"""Replace the few torchvision functions that models of diffusers use, if torchvision is not installed."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F

from diffprof.pipelines.patching import Patches

USERS = ("diffusers.models.transformers.transformer_cosmos", "diffusers.models.controlnets.controlnet_cosmos")
"""Modules that resize a mask with ``transforms.functional.resize``, a name that they lack without torchvision."""


def supply_transforms(patches: Patches) -> None:
    """Let Cosmos resize its padding mask with the function of torch that torchvision uses."""
    for name in USERS:
        module = sys.modules.get(name)
        if module is not None and not hasattr(module, "transforms"):
            patches.set(module, "transforms", TRANSFORMS)


def _resize(image: torch.Tensor, size: list[int], interpolation: str) -> torch.Tensor:
    return F.interpolate(image, size=size, mode=interpolation)


TRANSFORMS: Any = SimpleNamespace(
    functional=SimpleNamespace(resize=_resize), InterpolationMode=SimpleNamespace(NEAREST="nearest")
)
