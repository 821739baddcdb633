"""The pipeline that the checks of ``diffprof doctor`` use."""

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
    """Raised by a check that is not possible on this machine, with the reason."""


class DoctorModel:
    """Creates the bundled model on the examined device, once for every check."""

    def __init__(self, device: str | None) -> None:
        self.device = device

    @cached_property
    def place(self) -> torch.device:
        """The examined device, even if none was named."""
        return torch.device(self.pipeline()._execution_device)

    def pipeline(self, **changes: Any) -> Any:
        """Load the pipeline; `changes` are fields of its request, such as `offload`."""
        request = Request.create(SHAPES, {}, device=self.device, **changes)
        pipeline = plan_loading(request).load(0).pipeline
        pipeline.set_progress_bar_config(disable=True)
        return pipeline

    def call(self, pipeline: Any, **changes: Any) -> torch.Tensor:
        generator = torch.Generator("cpu").manual_seed(7)
        image: torch.Tensor = pipeline(**{**CALL, "generator": generator, **changes}).images
        return image


def measured_run(model: DoctorModel, pipeline: Any) -> Run:
    """Measure one call."""
    return measured_image(model, pipeline)[1]


CHECKED_ELSEWHERE = frozenset({"launch_times", "no_samples"})
"""Limitations of a measured call that have their own checks."""


def measured_image(model: DoctorModel, pipeline: Any) -> tuple[torch.Tensor, Run]:
    """Measure one call, and return its image; any other limitation fails the check."""
    with measuring(pipeline, sample_hz=1) as run:
        image = model.call(pipeline)
    limitations = [f"{one.kind} {one.detail}" for one in run.limitations if one.kind not in CHECKED_ELSEWHERE]
    require(not limitations, "; ".join(limitations))
    return image, run


def require(holds: bool, otherwise: str) -> None:
    """Fail the check with the reason `otherwise` unless `holds`."""
    if not holds:
        raise AssertionError(otherwise)
