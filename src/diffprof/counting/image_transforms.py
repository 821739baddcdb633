"""Replacements for the few functions of torchvision that models of diffusers use, where it is not installed."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F

from diffprof.pipelines.patching import Patches

USERS = ("diffusers.models.transformers.transformer_cosmos", "diffusers.models.controlnets.controlnet_cosmos")
"""They resize a mask with ``transforms.functional.resize``, and have no such name without torchvision."""


def supply_transforms(patches: Patches) -> None:
    """Let Cosmos resize its padding mask: torchvision does it with this very function of torch."""
    for name in USERS:
        module = sys.modules.get(name)
        if module is not None and not hasattr(module, "transforms"):
            patches.set(module, "transforms", TRANSFORMS)


def _resize(image: torch.Tensor, size: list[int], interpolation: str) -> torch.Tensor:
    return F.interpolate(image, size=size, mode=interpolation)


TRANSFORMS: Any = SimpleNamespace(
    functional=SimpleNamespace(resize=_resize), InterpolationMode=SimpleNamespace(NEAREST="nearest")
)
