"""Small pipelines with their weights, as folders that can be loaded."""

from __future__ import annotations

import functools
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy
import torch

from tests.pipelines.folders import copy_of_folder
from tests.small_pipelines import SMALL_PIPELINES

UNET = "unet/diffusion_pytorch_model.safetensors"
TEXT = "text_encoder/model.safetensors"


def saved_with_weights(name: str, folder: Path) -> Path:
    """The folder that the `save_pretrained` of a small pipeline wrote: a copy of one that is made once in a process."""
    return copy_of_folder(_saved_with_weights(name), folder)


@functools.cache
def _saved_with_weights(name: str) -> TemporaryDirectory[str]:
    made = TemporaryDirectory()
    SMALL_PIPELINES[name].build().save_pretrained(made.name, safe_serialization=True)
    return made


def generate_small(name: str, pipeline: Any) -> Any:
    """What the pipeline makes of the usual arguments of the small one of that name, as one array."""
    pipeline.set_progress_bar_config(disable=True)
    made = pipeline(**SMALL_PIPELINES[name].arguments())[0]
    return made.float().numpy() if isinstance(made, torch.Tensor) else numpy.asarray(made)
