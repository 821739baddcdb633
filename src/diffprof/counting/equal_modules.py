"""Find equal modules of a component, whose calls with equal inputs cost the same."""

from __future__ import annotations

import types
from collections import OrderedDict
from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any

import torch

from diffprof.counting.operations.module_outputs import PLAIN

WEIGHTS = (torch.Tensor, torch.nn.Parameter)
"""Plain classes of tensors; packed and sharded weights have other classes."""

Description = tuple[Any, ...]


class EqualModules:
    """Gives equal modules the same number.

    Equal modules have the same class, weights of the same shapes and dtypes, the same attributes and equal children. A
    module with hooks, or with an attribute that cannot be compared, has no number.
    """

    def __init__(self, paths: Mapping[int, str], real_weights: Collection[int]) -> None:
        self._paths = paths
        """Paths of modules within their component, by `id`."""
        self._real_weights = real_weights
        """`id`s of real tensors of which only the shape is used."""
        self._numbers: dict[int, int | None] = {}
        self._known: dict[Description, int] = {}
        self._is_changed = False

    def number_of(self, module: torch.nn.Module) -> int | None:
        """Return the number that equal modules share; None if calls of the module are never replayed."""
        try:
            return self._number(module)
        except _CannotCompareError:
            return None

    def forget(self, module: torch.nn.Module) -> None:
        """Forget all numbers that depend on a module, because it was changed."""
        if self._paths.get(id(module)) == "":
            self._numbers.pop(id(module), None)  # no other one contains a whole component
        else:
            self._numbers.clear()
        self._is_changed = True

    def forget_if_changed(self) -> None:
        """Forget the numbers if a module was changed; by now all modules are restored."""
        if self._is_changed:
            self._numbers.clear()
            self._is_changed = False

    def _number(self, value: Any) -> int:
        """Return the number of a module, or of an object in a module."""
        key = id(value)
        if key not in self._numbers:
            self._numbers[key] = None  # an object that contains itself cannot be described
            description = self._describe_module(value) if isinstance(value, torch.nn.Module) else self._describe(value)
            self._numbers[key] = self._known.setdefault(description, len(self._known))
        number = self._numbers[key]
        if number is None:
            raise _CannotCompareError
        return number

    def _describe_module(self, module: torch.nn.Module) -> Description:
        attributes = vars(module)
        if any(attributes.get(name) for name in HOOKS):
            raise _CannotCompareError
        return (*self._describe_inner(module), *self._describe(module))

    def _describe(self, value: Any) -> Description:
        """Return the class of an object and its attributes."""
        owner = type(value)
        parts: list[Any] = [owner]
        for name, part in vars(value).items():
            if name in MODULE_ATTRIBUTES:
                continue
            if callable(part) and hasattr(owner, name):
                raise _CannotCompareError  # a method was replaced on this object
            parts += (name, self._describe_value(part))
        return tuple(parts)

    def _describe_inner(self, module: torch.nn.Module) -> list[Any]:
        parts: list[Any] = [module.training]
        for tensors in (module._parameters, module._buffers):
            parts += [
                (name, None if tensor is None else self._describe_tensor(tensor)) for name, tensor in tensors.items()
            ]
        path = self._paths.get(id(module))
        for name, child in module._modules.items():
            # A module in several places is called by its first path; in the other places it is not like its siblings.
            if child is not None and self._paths.get(id(child)) != (f"{path}.{name}" if path else name):
                raise _CannotCompareError
            parts.append((name, None if child is None else self._number(child)))
        return parts

    def _describe_tensor(self, tensor: torch.Tensor) -> Description:
        if type(tensor) not in WEIGHTS:
            raise _CannotCompareError
        is_virtual = tensor.is_meta or id(tensor) in self._real_weights
        return (tensor.shape, tensor.stride(), tensor.dtype, is_virtual)

    def _describe_value(self, value: Any) -> Any:
        kind = type(value)
        if kind in PLAIN or isinstance(value, Enum):
            return kind, value
        if isinstance(value, (list, tuple)):
            return kind, *map(self._describe_value, value)
        if isinstance(value, (dict, OrderedDict)):
            return kind, *((name, self._describe_value(part)) for name, part in value.items())
        if isinstance(value, torch.nn.Module):
            return self._number(value)
        if isinstance(value, torch.Tensor):
            return self._describe_tensor(value)
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            return kind, id(value)
        if kind.__module__.startswith(("diffusers.models.", "transformers.")) and hasattr(value, "__dict__"):
            return kind, self._number(value)
        raise _CannotCompareError


class _CannotCompareError(Exception):
    """An object whose contents are not known."""


MODULE_ATTRIBUTES = frozenset(vars(torch.nn.Module()))
HOOKS = ("_forward_hooks", "_forward_pre_hooks")
