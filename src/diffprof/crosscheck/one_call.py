"""Record one call of a component in the dry run of its pipeline, and repeat it as a module."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree

from diffprof.counting.boundary import leaves, tensor_inputs
from diffprof.counting.profile import profile_call
from diffprof.errors import RequestError
from diffprof.pipelines.building.build import build
from diffprof.pipelines.components import components_of, entry_methods
from diffprof.pipelines.plans.source import blueprint_of
from diffprof.pipelines.quiet import quiet_libraries
from diffprof.record.profile import Call, Profile
from diffprof.record.tensors import TensorInput


@dataclass(frozen=True)
class RecordedCall:
    """A call of a component by its pipeline: the method, its arguments, and their names and shapes."""

    component: str
    method: str
    inputs: tuple[TensorInput, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def save(self, file: Path) -> None:
        torch.save(replace(self, **_without_generators(self)), file)

    @staticmethod
    def load(file: Path) -> RecordedCall:
        """Load a call. Only used for a file that this program has just written to its own folder."""
        call = torch.load(file, weights_only=False)
        assert isinstance(call, RecordedCall)
        return call


def _without_generators(call: RecordedCall) -> dict[str, Any]:
    """Remove random generators, which cannot be written to a file and do not affect counts."""
    args, kwargs = _pytree.tree_map(
        lambda leaf: None if isinstance(leaf, torch.Generator) else leaf, (call.args, call.kwargs)
    )
    return {"args": args, "kwargs": kwargs}


def open_pipeline(model: str) -> tuple[Any, dict[str, Any]]:
    """Open the pipeline on virtual weights in float32; also returns the call arguments that it requires."""
    blueprint = blueprint_of(model)
    with quiet_libraries():
        pipeline, _ = build(blueprint, torch.float32)
    return pipeline, dict(blueprint.call)


def record_costliest_call(pipeline: Any, slot: str | None, arguments: dict[str, Any]) -> RecordedCall:
    """Dry-run the pipeline and record the costliest call of a component, by default of its denoiser."""
    parts = components_of(pipeline)
    if slot is not None and slot not in parts:
        raise RequestError(f"{type(pipeline).__name__} has no component {slot!r}; it has {', '.join(parts)}")
    recorded_calls: list[RecordedCall] = []
    for name, component in parts.items():
        _record_calls(name, component, recorded_calls)
    with quiet_libraries():
        counted = profile_call(pipeline, arguments)
    call = _costliest(counted, slot or _denoiser(counted))
    costliest = (call.component, call.method, call.inputs)
    return next(
        recorded for recorded in recorded_calls if (recorded.component, recorded.method, recorded.inputs) == costliest
    )


def _record_calls(slot: str, component: torch.nn.Module, recorded_calls: list[RecordedCall]) -> None:
    """Record every call of any method of the component. Nothing is restored, because the pipeline is only used here."""

    def wrap_method(method: str) -> Callable[..., Any]:
        function = getattr(type(component), method)

        @functools.wraps(function)
        def record(*args: Any, **kwargs: Any) -> Any:
            recorded_calls.append(RecordedCall(slot, method, tensor_inputs(function, args, kwargs), args, kwargs))
            return getattr(type(component), method)(component, *args, **kwargs)

        return record

    for method in dict.fromkeys(("forward", *(name for _, name in entry_methods(component)))):
        vars(component)[method] = wrap_method(method)


def _denoiser(counted: Profile) -> str:
    stage = counted.steps.main
    if stage is None or not stage.denoisers:
        slots = [slot for slot, part in counted.components.items() if part.calls]
        raise RequestError(f"{counted.request.pipeline} has no denoising loop; name a --component: {', '.join(slots)}")
    return stage.denoisers[0]


def _costliest(counted: Profile, slot: str) -> Call:
    calls = [call for call in counted.calls if call.component == slot]
    if not calls:
        raise RequestError(
            f"{counted.request.pipeline} does not call {slot} with these arguments; name another --component"
        )
    return max(calls, key=lambda call: call.macs)


class OneCall(torch.nn.Module):
    """One call of a component as a module with tensors as inputs and outputs, which every counter can run."""

    def __init__(self, component: torch.nn.Module, call: RecordedCall) -> None:
        super().__init__()
        self.component = component
        self.method = call.method
        self._leaves, self._shape = _pytree.tree_flatten((call.args, call.kwargs))
        self._places = [place for place, leaf in enumerate(self._leaves) if isinstance(leaf, torch.Tensor)]

    def tensors(self, device: str) -> list[torch.Tensor]:
        """The tensor inputs; on the CPU, virtual or empty ones are filled with random numbers."""
        found = [self._leaves[place] for place in self._places]
        return [tensor.to("meta") if device == "meta" else _real_tensor(tensor) for tensor in found]

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = list(self._leaves)
        for place, tensor in zip(self._places, tensors, strict=True):
            values[place] = tensor
        args, kwargs = _pytree.tree_unflatten(values, self._shape)
        called = self.component if self.method == "forward" else getattr(self.component, self.method)
        return tuple(_tensors_of(called(*args, **kwargs)))


def _real_tensor(tensor: torch.Tensor) -> torch.Tensor:
    empty = tensor.is_meta or not bool(tensor.any())
    if tensor.is_floating_point() and empty and tensor.dim():
        return torch.randn(tensor.shape, dtype=tensor.dtype)
    return torch.zeros(tensor.shape, dtype=tensor.dtype) if tensor.is_meta else tensor.clone()


def _tensors_of(output: Any) -> Sequence[torch.Tensor]:
    found = []
    for leaf in leaves(output):
        # For example a distribution, whose tensors are its attributes.
        held = leaf if isinstance(leaf, torch.Tensor) or not hasattr(leaf, "__dict__") else vars(leaf)
        found += [part for part in leaves(held) if isinstance(part, torch.Tensor)]
    return found


def with_real_weights(component: torch.nn.Module) -> torch.nn.Module:
    """Create a model of the same architecture with random weights, in float32 on the CPU."""
    owner: Any = type(component)
    config: Any = component.config
    with quiet_libraries():
        model = owner(config) if getattr(owner, "config_class", None) is not None else owner.from_config(config)
    return model.eval().float()
