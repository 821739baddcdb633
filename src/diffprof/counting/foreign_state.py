"""The state that foreign code keeps: on classes, in closures, in globals and in its own objects.

A cache in a pipeline may keep its tensors anywhere. Everything that its functions can reach is found, remembered
before a dry run and restored afterwards.
"""

from __future__ import annotations

import functools
import gc
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakValueDictionary

import torch

from diffprof.counting.foreign_code import functions_in, is_foreign, is_foreign_function, kernel_name, unwrap_function
from diffprof.counting.known_layers import known_layer

CONTAINERS = (dict, OrderedDict, defaultdict, list, set, deque, WeakKeyDictionary, WeakValueDictionary)
MAX_VISITED = 20_000
"""The maximum number of objects to follow."""
MAX_KEPT_VALUES = 1 << 16
"""Larger tensors are assumed to be read only."""
ABSENT = object()
EMPTY_CELL = object()


class Memory(Protocol):
    """Remembers state in order to restore it."""

    def remember_attributes(self, owner: Any) -> None: ...
    def remember_container(self, container: Any) -> None: ...
    def remember_tensor(self, tensor: torch.Tensor) -> None: ...
    def call_on_restore(self, restore: Callable[[], None]) -> None: ...


class ForeignState:
    """Follows foreign code from the modules and callbacks of a pipeline, and remembers the state that it can change."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._visited: dict[int, Any] = {}
        self._classes: set[type] = set()
        self.unknown: dict[str, None] = {}
        """Descriptions of reached state that cannot be restored."""
        self.kernels: dict[str, None] = {}
        """Descriptions of reached code outside of Python and PyTorch."""

    @property
    def is_empty(self) -> bool:
        """Whether there is no foreign code."""
        return not self._visited

    def follow(self, modules: Iterable[Any], functions: Iterable[Any]) -> None:
        """Follow everything that these modules and functions can reach."""
        for module in modules:
            self._follow_module(module)
        for function in functions:
            self._visit(function)

    def follow_classes(self, classes: Iterable[type]) -> None:
        """Follow everything that these classes can reach."""
        for owner in classes:
            if known_layer(owner) is None:
                self._follow_class(owner)

    def _follow_module(self, module: Any) -> None:
        """Follow a module or another part of a pipeline: its class, its hooks, and functions that were set on it."""
        if known_layer(type(module)) is not None:
            return  # its own code is not executed
        self._follow_class(type(module))
        attributes = vars(module)
        for value in attributes.values():
            if isinstance(value, CALLABLES) or is_foreign(type(value).__module__):
                self._visit(value)
        for name in ("_forward_hooks", "_forward_pre_hooks"):
            for hook in attributes.get(name, {}).values():
                self._visit(hook)

    def _follow_class(self, owner: type) -> None:
        """Follow the attributes of a class and its bases, and the foreign functions in them."""
        for base in owner.__mro__:
            if base in self._classes or base.__module__ == "builtins" or base is torch.nn.Module:
                continue
            self._classes.add(base)
            self._remember_class(base)
            foreign = is_foreign(base.__module__)
            for value in list(vars(base).values()):
                for function in functions_in(value):
                    self._follow_lru_caches(function)
                    if foreign or any(map(is_foreign_function, unwrap_function(function))):
                        self._visit(function)

    def _remember_class(self, owner: type) -> None:
        before = dict(vars(owner))

        def restore() -> None:
            now = vars(owner)
            for name in [name for name in now if name not in before and not name.startswith("__")]:
                delattr(owner, name)
            for name, value in before.items():
                if now.get(name, ABSENT) is not value and not name.startswith("__"):
                    setattr(owner, name, value)

        self._memory.call_on_restore(restore)
        for value in before.values():
            if isinstance(value, CONTAINERS):
                self._memory.remember_container(value)
            elif isinstance(value, torch.Tensor):
                self._memory.remember_tensor(value)

    def _visit(self, value: Any) -> None:
        """Remember a value that foreign code can reach, and follow it."""
        pending = [value]
        while pending:
            value = pending.pop()
            if id(value) in self._visited:
                continue
            kernel = kernel_name(value)
            if kernel is not None:
                self.kernels.setdefault(kernel)
                continue
            if isinstance(value, HARMLESS):
                continue
            if len(self._visited) >= MAX_VISITED:
                return  # leftovers are checked afterwards
            self._visited[id(value)] = value
            pending += self._reachable_values(value)

    def _reachable_values(self, value: Any) -> Iterable[Any]:
        if isinstance(value, torch.nn.Module):
            return ()  # of the pipeline, and remembered elsewhere; or another model, whose calls are not counted
        if isinstance(value, functools._lru_cache_wrapper):
            self._follow_lru_caches(value)
            return (value.__wrapped__,)
        if isinstance(value, types.FunctionType):
            return [*self._reachable_from_function(value), *unwrap_function(value)[1:]]
        if isinstance(value, types.MethodType):
            return (value.__func__, value.__self__)
        if isinstance(value, functools.partial):
            return (value.func, *value.args, *value.keywords.values())
        if isinstance(value, type):
            if is_foreign(value.__module__):
                self._follow_class(value)
            return ()
        return self._reachable_from_data(value)

    def _reachable_from_function(self, function: types.FunctionType) -> Iterator[Any]:
        cells = [(cell, _contents(cell)) for cell in function.__closure__ or ()]
        if not is_foreign_function(function):
            yield from (contents for _, contents in cells if isinstance(contents, CALLABLES))  # a decorator's
            return
        for cell, before in cells:
            self._memory.call_on_restore(functools.partial(_restore_cell, cell, before))
            yield before
        names, space = _names_in(function.__code__), function.__globals__
        for name in names & space.keys():
            yield from self._binding(space, name, names)
        for name in names - space.keys():  # a global that the function may create
            self._memory.call_on_restore(functools.partial(_restore_binding, space, name, ABSENT))

    def _binding(self, space: dict[str, Any], name: str, names: set[str]) -> Iterator[Any]:
        value = space[name]
        if isinstance(value, types.ModuleType):
            if kernel_name(value) is not None:
                yield value
            elif is_foreign(value.__name__):
                for attribute in names & vars(value).keys():
                    yield from self._binding(vars(value), attribute, set())
            return
        if not isinstance(value, (types.FunctionType, type)):
            self._memory.call_on_restore(functools.partial(_restore_binding, space, name, value))
        yield value

    def _reachable_from_data(self, value: Any) -> Iterable[Any]:
        if isinstance(value, CONTAINERS):
            self._memory.remember_container(value)
            return list(value.values()) if hasattr(value, "values") else list(value)
        if isinstance(value, (tuple, frozenset)):
            return value
        if isinstance(value, torch.Tensor):
            self._memory.remember_tensor(value)
            return ()
        if isinstance(value, ContextVar):
            before = value.get(None)
            self._memory.call_on_restore(lambda: value.set(before) and None)
            return (before,)
        return self._reachable_from_object(value)

    def _reachable_from_object(self, value: Any) -> Iterable[Any]:
        foreign = is_foreign(type(value).__module__)
        if foreign:
            self._follow_class(type(value))
        slots = [slot for owner in type(value).__mro__ for slot in _slots(owner)]
        reached = []
        for slot in slots:
            before = getattr(value, slot, ABSENT)
            self._memory.call_on_restore(functools.partial(_restore_attribute, value, slot, before))
            reached.append(before)
        if hasattr(value, "__dict__"):
            self._memory.remember_attributes(value)
            reached += list(vars(value).values()) if foreign or type(value).__module__ == "types" else []
        elif isinstance(value, Iterator) or (foreign and not slots and gc.is_tracked(value)):
            kind = type(value)
            self.unknown.setdefault(f"an object of {kind.__module__}.{kind.__qualname__}")
        return reached

    def _follow_lru_caches(self, function: Any) -> None:
        """Clear caches that a dry run has used: its results may be virtual, and no later call may get them."""
        for part in (function, *(_contents(cell) for cell in getattr(function, "__closure__", None) or ())):
            if isinstance(part, functools._lru_cache_wrapper):
                self._memory.call_on_restore(functools.partial(_clear_if_used, part, part.cache_info()))


CALLABLES = (types.FunctionType, types.MethodType, functools.partial)
HARMLESS = (
    bool, int, float, complex, str, bytes, type(None), types.ModuleType, types.BuiltinFunctionType, range, property,
    torch.dtype, torch.device, torch.Generator, torch.Size,
)  # fmt: skip


def _names_in(code: types.CodeType) -> set[str]:
    """Return the global names and attributes that a function and its inner functions use."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY_CELL


def _restore_cell(cell: types.CellType, before: Any) -> None:
    if _contents(cell) is before:
        return
    if before is EMPTY_CELL:
        del cell.cell_contents
    else:
        cell.cell_contents = before


def _restore_binding(space: dict[str, Any], name: str, before: Any) -> None:
    if space.get(name, ABSENT) is before:
        return
    if before is ABSENT:
        del space[name]
    else:
        space[name] = before


def _slots(owner: type) -> list[str]:
    slots = vars(owner).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [
        f"_{owner.__name__.lstrip('_')}{name}" if _is_private(name) else name
        for name in names
        if name not in IGNORED_SLOTS
    ]


IGNORED_SLOTS = frozenset({"__dict__", "__weakref__"})


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


def _restore_attribute(owner: Any, name: str, before: Any) -> None:
    if getattr(owner, name, ABSENT) is before:
        return
    if before is ABSENT:
        object.__delattr__(owner, name)
    else:
        object.__setattr__(owner, name, before)


def _clear_if_used(wrapper: Any, before: Any) -> None:
    if wrapper.cache_info() != before:
        wrapper.cache_clear()
