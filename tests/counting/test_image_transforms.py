"""Cosmos is counted where torchvision is not installed."""

from __future__ import annotations

import sys

import torch
from diffusers import CosmosTransformer3DModel

from diffprof.counting.image_transforms import TRANSFORMS, supply_transforms
from diffprof.pipelines.patching import Patches


def test_a_mask_is_resized_to_the_nearest_values() -> None:
    mask = torch.tensor([[[[0.0, 1.0], [2.0, 3.0]]]])
    resized = TRANSFORMS.functional.resize(mask, [4, 2], interpolation=TRANSFORMS.InterpolationMode.NEAREST)
    assert resized.tolist() == [[[[0, 1], [0, 1], [2, 3], [2, 3]]]]


def test_the_model_has_what_it_lacks_only_while_it_is_counted() -> None:
    module = sys.modules[CosmosTransformer3DModel.__module__]
    before = getattr(module, "transforms", None)
    with Patches() as patches:
        supply_transforms(patches)
        assert module.transforms is (before or TRANSFORMS)
    assert getattr(module, "transforms", None) is before
