"""Helpers for the tests of `diffprof.inference`: expected results, and faults to inject."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy
import pytest
from PIL import Image

from tests.small_pipelines import SMALL_PIPELINES

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "generation_config.schema.json").read_text())

GUIDE_KEYS = {
    "enabled", "model_component", "total_params", "params_str", "flops_per_step", "flops_per_step_str", "macs_per_step",
    "macs_per_step_str", "total_flops", "total_flops_str", "total_macs", "total_macs_str", "num_inference_steps",
    "inference_time_seconds", "inference_time_str", "input_shape", "latent_shape", "unet_macs_per_step", "vae_macs",
    "text_encoder_macs",
}  # fmt: skip
"""All that the guides show of profiling data."""


def same(one: Any, other: Any) -> bool:
    frames = [[numpy.asarray(frame) for frame in (made if isinstance(made, list) else [made])] for made in (one, other)]
    return all(numpy.array_equal(*pair) for pair in zip(*frames, strict=True))


def arguments_of(name: str) -> dict[str, Any]:
    """Of a small pipeline, without those that are not for the caller to set."""
    own = ("generator", "output_type", "num_waveforms_per_prompt")
    return {key: value for key, value in SMALL_PIPELINES[name].arguments().items() if key not in own}


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*")) if folder.exists() else []


def batch_config(folder: Path) -> dict[str, Any]:
    values = json.loads((folder / "generation_config.json").read_text())
    jsonschema.validate(values, SCHEMA)
    return dict(values)


def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Image.Image.save

    def save(self: Image.Image, target: Any, *arguments: Any, **options: Any) -> None:
        real(self, target, *arguments, **options)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", save)
