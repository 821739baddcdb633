"""`diffprof.profile_module`: profile one call of a single module, without a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from diffprof.counting.dry_run import dry_run
from diffprof.counting.profile import compose_profile, record_request
from diffprof.errors import RequestError
from diffprof.pipelines.arguments import CallArguments
from diffprof.pipelines.changes.virtual_changes import apply_changes
from diffprof.pipelines.module_inputs import check_method, input_tensors
from diffprof.pipelines.opening import OpenedPipeline, open_component, torch_dtype
from diffprof.pipelines.quiet import quiet_libraries
from diffprof.record.changes import EVERY, Changes
from diffprof.record.profile import Profile
from diffprof.record.progress import Progress
from diffprof.record.request import Request

SLOT = "module"
"""The default name of the module in its profile."""


def profile_module(
    module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], progress: Progress | None = None
) -> Profile:
    """Profile one call of a live module or of one of its methods; the module is left exactly as it was."""
    method = "forward"
    if isinstance(getattr(module, "__self__", None), torch.nn.Module):
        module, method = module.__self__, module.__name__
    if not isinstance(module, torch.nn.Module):
        raise RequestError(f"profile_module takes a torch.nn.Module or a method of one, not a {type(module).__name__}")
    opened = OpenedPipeline(_create_caller(module, SLOT, method), type(module).__name__, "module")
    return _profile(opened, args, kwargs, progress)


def profile_component(request: Request, progress: Progress | None = None) -> Profile:
    """Profile one call of the requested component on virtual weights, with inputs of the requested shapes."""
    assert request.component is not None
    with quiet_libraries():
        opened = open_component(request.model, request.component, request.dtype, progress, request.config)
        module, method = opened.pipeline, request.method or "forward"
        check_method(module, method)
        inputs = input_tensors(module, request.inputs, str(opened.dtype), method)
        opened.pipeline = _create_caller(module, request.component, method)
        _change(opened, request.component, request.changes)
        return record_request(_profile(opened, (), inputs, progress), request)


def _change(opened: OpenedPipeline, slot: str, changes: Changes) -> None:
    """Apply the changes that a single component can have; a change to all components applies to this one."""
    for name in ("controlnet", "ip_adapter", "guidance_interval", "cache"):
        if getattr(changes, name):
            raise RequestError(f"{name} is for the call of a pipeline; leave it out for a single component")
    changes = replace(changes, quantize=_for_slot(changes.quantize, slot), layerwise=_for_slot(changes.layerwise, slot))
    dtype = torch_dtype(str(opened.dtype))
    _, opened.changes, assumed = apply_changes(opened.pipeline, changes, dtype, {})
    opened.assumptions = (*opened.assumptions, *assumed)


def _for_slot(kinds: Mapping[str, str], slot: str) -> dict[str, str]:
    kind = kinds.get(slot, kinds.get(EVERY, ""))
    return {slot: kind} if kind else {}


def _profile(
    opened: OpenedPipeline, args: tuple[Any, ...], kwargs: Mapping[str, Any], progress: Progress | None
) -> Profile:
    result = dry_run(opened.pipeline, {"args": args, "kwargs": kwargs}, None, progress)
    given = {str(number): value for number, value in enumerate(args)} | dict(kwargs)
    return compose_profile(opened, CallArguments(given, {}, (), {}), {}, result)


class _ModuleCaller:
    """Takes the place of a pipeline: its call is one call of the module."""

    def __init__(self, module: torch.nn.Module, slot: str, method: str) -> None:
        self.config = {slot: None}
        self.slot = slot
        self.method = method
        vars(self)[slot] = module

    def register_modules(self, **modules: Any) -> None:
        """Register components, as a pipeline does."""
        raise NotImplementedError

    @torch.no_grad()
    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        module = vars(self)[self.slot]
        (module if self.method == "forward" else getattr(module, self.method))(*args, **kwargs)


def _create_caller(module: torch.nn.Module, slot: str, method: str) -> _ModuleCaller:
    """Create a caller with the name of the module's class, which errors then name."""
    return type(type(module).__name__, (_ModuleCaller,), {})(module, slot, method)
