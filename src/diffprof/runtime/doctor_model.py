"""The pipeline that ``diffprof doctor`` makes its checks with."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch

from diffprof.catalogue.bundled_model import SHAPES
from diffprof.pipelines.loading.weights import plan_loading
from diffprof.record.request import Request
from diffprof.runtime.measure import Run, measuring

CALL: dict[str, Any] = {
    "prompt": "a red circle", "num_inference_steps": 3, "height": 64, "width": 64, "output_type": "pt",
}  # fmt: skip


class Skipped(Exception):
    """A check that this machine cannot make, and why."""


class DoctorModel:
    """The bundled model, on the device that is examined; a fresh one for every check."""

    def __init__(self, device: str | None) -> None:
        self.device = device

    @cached_property
    def place(self) -> torch.device:
        """The device, also where none was named."""
        return torch.device(self.pipeline()._execution_device)

    def pipeline(self, **changes: Any) -> Any:
        """The pipeline; `changes` are fields of its request, such as `offload`."""
        request = Request.create(SHAPES, {}, device=self.device, **changes)
        pipeline = plan_loading(request).load(0).pipeline
        pipeline.set_progress_bar_config(disable=True)
        return pipeline

    def call(self, pipeline: Any, **changes: Any) -> torch.Tensor:
        generator = torch.Generator("cpu").manual_seed(7)
        image: torch.Tensor = pipeline(**{**CALL, "generator": generator, **changes}).images
        return image


def measured_run(model: DoctorModel, pipeline: Any) -> Run:
    """One measured call."""
    return measured_image(model, pipeline)[1]


CHECKED_ELSEWHERE = frozenset({"launch_times", "no_samples"})
"""Limits of a measured call that checks of their own are about."""


def measured_image(model: DoctorModel, pipeline: Any) -> tuple[torch.Tensor, Run]:
    """One measured call and its image; nothing else about it may be limited."""
    with measuring(pipeline, sample_hz=1) as run:
        image = model.call(pipeline)
    limitations = [f"{one.kind} {one.detail}" for one in run.limitations if one.kind not in CHECKED_ELSEWHERE]
    require(not limitations, "; ".join(limitations))
    return image, run


def require(holds: bool, otherwise: str) -> None:
    """Fail the check where something does not hold."""
    if not holds:
        raise AssertionError(otherwise)
