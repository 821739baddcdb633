"""Remembers the state of a live pipeline before a dry run and puts it back exactly, also after an exception."""

from __future__ import annotations

import random
import types
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy
import torch

CONTAINERS = (dict, OrderedDict, list, set)  # hooks of modules are in an OrderedDict


class Snapshot:
    """The attributes of a pipeline and of everything in it that its code can change, and the random state."""

    def __init__(self, pipeline: Any, modules: Iterator[torch.nn.Module], arguments: dict[str, Any]) -> None:
        self._objects: dict[int, tuple[Any, dict[str, Any], dict[str, Any]]] = {}
        self._remember(pipeline)
        for module in modules:
            self._remember(module)
        self._random = _RandomState(arguments)

    def restore(self) -> None:
        for owner, attributes, containers in self._objects.values():
            now = vars(owner)
            for name in [name for name in now if name not in attributes]:
                del now[name]
            now.update(attributes)
            for name, before in containers.items():
                _refill(attributes[name], before)
        self._random.restore()

    def _remember(self, owner: Any) -> None:
        """Attributes, one level into containers; so too of what a pipeline or module holds, and of what hooks keep."""
        if id(owner) in self._objects:
            return
        attributes = dict(vars(owner))
        # Most containers are empty, and copying an empty OrderedDict takes as long as all the rest.
        held = {name: value for name, value in attributes.items() if type(value) in CONTAINERS}
        containers = {name: value.copy() if value else () for name, value in held.items()}
        self._objects[id(owner)] = (owner, attributes, containers)
        holder = isinstance(owner, torch.nn.Module) or hasattr(owner, "register_modules")
        for name, value in attributes.items():
            if type(value) in PLAIN or name in OWN_OF_MODULES:
                continue
            for part in value.values() if type(value) is dict else value if type(value) is list else (value,):
                if _keeps_state(part) and (holder or type(part).__module__.startswith("diffusers.hooks")):
                    self._remember(part)


def _keeps_state(value: Any) -> bool:
    """Tokenizers, schedulers, processors, position embedders, hooks; modules and tensors are remembered elsewhere."""
    return hasattr(value, "__dict__") and not isinstance(value, REMEMBERED_OTHERWISE)


PLAIN = frozenset({bool, int, float, str, type(None), tuple})
OWN_OF_MODULES = frozenset(vars(torch.nn.Module()))
"""Attributes that every module has: containers of tensors, modules and hooks, which are copied as they are."""

REMEMBERED_OTHERWISE = (
    torch.nn.Module, torch.Tensor, OrderedDict, type, types.FunctionType, types.MethodType, types.ModuleType,
)  # fmt: skip


def _refill(container: Any, before: Any) -> None:
    if type(container) is list:
        container[:] = before
    else:
        container.clear()
        container.update(before)


class _RandomState:
    """Of torch, of each GPU in use, of numpy, of Python, and of the generators that were passed as arguments."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._torch = torch.get_rng_state()
        self._cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
        self._numpy = numpy.random.get_state()
        self._python = random.getstate()
        found = (value if isinstance(value, (list, tuple)) else (value,) for value in arguments.values())
        generators = [part for parts in found for part in parts if isinstance(part, torch.Generator)]
        self._generators = [(generator, generator.get_state()) for generator in generators]

    def restore(self) -> None:
        torch.set_rng_state(self._torch)
        if self._cuda is not None:
            torch.cuda.set_rng_state_all(self._cuda)
        numpy.random.set_state(self._numpy)
        random.setstate(self._python)
        for generator, state in self._generators:
            generator.set_state(state)
