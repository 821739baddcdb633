"""A pipeline and where it came from: opened by name on virtual weights, or made by somebody else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from diffprof.pipelines.blueprint import Blueprint
from diffprof.pipelines.building import build
from diffprof.pipelines.patching import DRY_RUN_LOCK
from diffprof.pipelines.source import blueprint_of
from diffprof.record.progress import Activity, Progress, ProgressEvent
from diffprof.settings.limits import dtype_name


class OpenedPipeline:
    """A pipeline to be profiled and where it came from."""

    def __init__(
        self,
        pipeline: Any,
        name: str,
        source: str,
        dtype: str | None = None,
        call: Mapping[str, Any] | None = None,
        assumptions: tuple[str, ...] = (),
    ) -> None:
        self.pipeline = pipeline
        self.name = name
        self.source = source
        self.dtype = dtype
        self.call = call or {}
        self.assumptions = assumptions


def open_live(pipeline: Any) -> OpenedPipeline:
    """A pipeline that somebody else has made."""
    return OpenedPipeline(pipeline, str(getattr(pipeline, "name_or_path", None) or type(pipeline).__name__), "object")


_BUILT: dict[tuple[Any, torch.dtype], OpenedPipeline] = {}
_BUILT_LIMIT = 2
"""Pipelines that are kept built in this process: a second profile of one only has to count."""


def open_virtual(model: str | Path, dtype: str | torch.dtype | None, progress: Progress | None) -> OpenedPipeline:
    """The pipeline of a name, folder or hub id, on virtual weights; the last ones stay built."""
    if progress:
        progress(ProgressEvent(Activity.opening, str(model)))
    blueprint = blueprint_of(model)
    return open_blueprint(blueprint, torch_dtype(dtype or blueprint.dtype))


def open_blueprint(blueprint: Blueprint, dtype: torch.dtype) -> OpenedPipeline:
    """The pipeline of a plan, on virtual weights; the last ones stay built, so leave it as it is."""
    key = (repr(blueprint), dtype)
    with DRY_RUN_LOCK:
        opened = _BUILT.get(key)
        if opened is None:
            pipeline, assumptions = build(blueprint, dtype)
            while len(_BUILT) >= _BUILT_LIMIT:
                _BUILT.pop(next(iter(_BUILT)))
            name = str(dtype).removeprefix("torch.")
            opened = _BUILT[key] = OpenedPipeline(
                pipeline, blueprint.name, blueprint.source, name, blueprint.call, assumptions
            )
    return opened


def torch_dtype(dtype: str | torch.dtype) -> torch.dtype:
    """The dtype that a name stands for."""
    return dtype if isinstance(dtype, torch.dtype) else getattr(torch, str(dtype_name(dtype)))
