"""Remember the state of a live pipeline before a dry run and restore it exactly, even after an exception."""

from __future__ import annotations

import random
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy
import torch

from diffprof.counting.foreign_state import MAX_KEPT_VALUES, ForeignState
from diffprof.pipelines.components import holds_components


class PipelineState:
    """The attributes of a pipeline and of everything that its code can change, and the random state."""

    def __init__(self, pipeline: Any, modules: Iterable[torch.nn.Module], arguments: dict[str, Any]) -> None:
        self._own = _Memory()
        """The state of the pipeline's own objects."""
        self._dtypes: list[tuple[torch.Tensor, torch.dtype]] = []
        """Dtypes of virtual weights, because a pipeline may cast a component in place and not cast it back."""
        modules = list(modules)
        self._own.remember_object(pipeline)
        for module in modules:
            self._own.remember_object(module)
            for buffer in module._buffers.values():
                if buffer is not None:
                    self._own.remember_tensor(buffer)
            for weight in (*module._parameters.values(), *module._buffers.values()):
                if weight is not None and weight.is_meta:
                    self._dtypes.append((weight, weight.dtype))
        self._classes = tuple(dict.fromkeys(map(type, (pipeline, *modules))))
        self._shared = _Memory()
        """The state of shared objects: classes, and everything that foreign code can reach."""
        foreign = ForeignState(self._shared)
        foreign.follow((pipeline, *modules), (value for value in arguments.values() if callable(value)))
        self.is_of_libraries = foreign.is_empty
        """Whether all code of the pipeline belongs to known libraries."""
        self.kernels = tuple(foreign.kernels)
        """Descriptions of kernels outside of PyTorch that foreign code calls."""
        self.unknown = tuple(foreign.unknown)
        """Descriptions of foreign state that cannot be restored."""
        self._random = RandomState(arguments)

    def renew(self, arguments: dict[str, Any]) -> bool:
        """Remember again what others may have changed; return False if there is foreign code."""
        if not self.is_of_libraries or any(map(callable, arguments.values())):
            return False
        self._shared = _Memory()
        foreign = ForeignState(self._shared)
        foreign.follow_classes(self._classes)
        self._random = RandomState(arguments)
        return foreign.is_empty

    def restore(self) -> None:
        self._own.restore()
        for weight, dtype in self._dtypes:
            if weight.dtype != dtype:
                weight.data = weight.data.to(dtype)
        self._shared.restore()
        self._random.restore()


class _Memory:
    """The remembered state of objects, containers and tensors."""

    def __init__(self) -> None:
        self._objects: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._containers: dict[int, tuple[Any, Any]] = {}
        self._tensors: dict[int, tuple[torch.Tensor, int, torch.Tensor]] = {}
        self._others: list[Callable[[], None]] = []

    def restore(self) -> None:
        for owner, attributes in self._objects.values():
            now = vars(owner)
            if now.keys() != attributes.keys():
                for name in [name for name in now if name not in attributes]:
                    del now[name]
            now.update(attributes)
        for container, before in self._containers.values():
            if container or before:
                _refill(container, before)
        for tensor, version, values in self._tensors.values():
            if tensor._version != version:
                with torch.no_grad():
                    tensor.copy_(values)
        for restore in self._others:
            restore()

    def remember_attributes(self, owner: Any) -> None:
        """Remember the attributes of an object, but not what they contain."""
        self._objects.setdefault(id(owner), (owner, dict(vars(owner))))

    def remember_tensor(self, tensor: torch.Tensor) -> None:
        """Remember the values of counters and statistics, which code may change; large tables are only read."""
        if not tensor.is_meta and tensor.numel() <= MAX_KEPT_VALUES and not tensor.is_inference():
            # Not on the tensor's own device: GPU memory belongs to the program, and may be full.
            values = tensor.detach().to("cpu", copy=True)
            self._tensors.setdefault(id(tensor), (tensor, tensor._version, values))

    def call_on_restore(self, restore: Callable[[], None]) -> None:
        self._others.append(restore)

    def remember_object(self, owner: Any) -> None:
        """Remember attributes and containers, also of objects in a pipeline or module, and of hooks."""
        if id(owner) in self._objects:
            return
        attributes = dict(vars(owner))
        self._objects[id(owner)] = (owner, attributes)
        holder = isinstance(owner, torch.nn.Module) or holds_components(owner)
        for name, value in attributes.items():
            if type(value) in PLAIN:
                continue
            if type(value) in CONTAINERS:
                self.remember_container(value)
            if name in MODULE_ATTRIBUTES:
                continue
            for part in value.values() if type(value) is dict else value if type(value) is list else (value,):
                if _has_state(part) and (holder or type(part).__module__.startswith("diffusers.hooks")):
                    self.remember_object(part)

    def remember_container(self, container: Any) -> None:
        """Remember the contents of a container, including nested containers."""
        if id(container) in self._containers:
            return
        # Most containers are empty, and copying an empty OrderedDict takes as long as everything else.
        self._containers[id(container)] = (container, container.copy() if container else ())
        for part in container.values() if isinstance(container, dict) else container:
            if type(part) in CONTAINERS:
                self.remember_container(part)


CONTAINERS = (dict, OrderedDict, list, set)  # hooks of modules are in an OrderedDict


def _has_state(value: Any) -> bool:
    """Whether it is an object with state, such as a tokenizer, scheduler or hook; not a module or a tensor."""
    return hasattr(value, "__dict__") and not isinstance(value, REMEMBERED_ELSEWHERE)


PLAIN = frozenset({bool, int, float, str, type(None), tuple})
MODULE_ATTRIBUTES = frozenset(vars(torch.nn.Module()))
"""Attributes of every module: containers of tensors, modules and hooks, which are copied."""

REMEMBERED_ELSEWHERE = (
    torch.nn.Module, torch.Tensor, OrderedDict, type, types.FunctionType, types.MethodType, types.ModuleType,
)  # fmt: skip


def _refill(container: Any, before: Any) -> None:
    if _has_same_items(container, before):
        return  # another thread may be reading it
    if isinstance(container, list):
        container[:] = before
    else:
        container.clear()
        (container.extend if isinstance(container, deque) else container.update)(before)


def _has_same_items(container: Any, before: Any) -> bool:
    if len(container) != len(before):
        return False
    if hasattr(container, "items") and before:
        pairs = zip(container.items(), before.items(), strict=True)
        return all(key is old_key and value is old for (key, value), (old_key, old) in pairs)
    return all(part is old for part, old in zip(container, before, strict=True))


class RandomState:
    """The random state of torch, each GPU in use, numpy and Python, and of generators passed as arguments."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._torch = torch.get_rng_state()
        self._backends = [
            (backend, backend.get_rng_state_all() if backend.is_initialized() else None)
            for backend in _backends_with_random_state()
        ]
        self._mps = torch.mps.get_rng_state() if torch.backends.mps.is_available() else None
        self._numpy = numpy.random.get_state()
        self._python = random.getstate()
        found = (value if isinstance(value, (list, tuple)) else (value,) for value in arguments.values())
        generators = [part for parts in found for part in parts if isinstance(part, torch.Generator)]
        self._generators = [(generator, generator.get_state()) for generator in generators]

    def restore(self) -> None:
        torch.set_rng_state(self._torch)
        for backend, states in self._backends:
            if states is not None:
                backend.set_rng_state_all(states)
            elif backend.is_initialized():  # initialized since then: its generators started with their seed
                for generator in getattr(backend, "default_generators", ()):
                    generator.manual_seed(generator.initial_seed())
        if self._mps is not None:
            torch.mps.set_rng_state(self._mps)
        numpy.random.set_state(self._numpy)
        random.setstate(self._python)
        for generator, state in self._generators:
            generator.set_state(state)


def _backends_with_random_state() -> list[Any]:
    """Return ``torch.cuda``, ``torch.xpu``, and the module of any other accelerator that has random numbers."""
    kinds = dict.fromkeys(("cuda", "xpu", *accelerator_kinds()))
    found = [getattr(torch, kind, None) for kind in kinds]
    return [
        backend for backend in found if hasattr(backend, "set_rng_state_all") and hasattr(backend, "is_initialized")
    ]


def accelerator_kinds() -> tuple[str, ...]:
    """Return the type of torch's accelerator on this machine, such as ``cuda`` or that of a vendor's extension."""
    found = torch.accelerator.current_accelerator()
    return () if found is None else (found.type,)
