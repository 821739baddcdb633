"""Run a pipeline and track its live storages, independently of diffprof."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


@dataclass
class RealPoint:
    """Bytes alive before, at most during, and right after one call of a component."""

    component: str
    method: str
    before_bytes: int
    peak_bytes: int
    after_bytes: int


class StorageWatch(TorchDispatchMode):
    """Counts every storage that an operation makes, until it is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.peak = 0
        self.sizes: dict[int, int] = {}
        self.references: dict[int, Any] = {}
        self.before: list[torch.UntypedStorage] = []
        self.on_change: Callable[[], None] = lambda: None

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        for leaf in tree_leaves((args, kwargs)):
            if isinstance(leaf, torch.Tensor) and leaf.untyped_storage()._cdata not in self.sizes:
                self.before.append(leaf.untyped_storage())  # made by no operation: a table of a module, an array
        before = {storage._cdata for storage in self.before}
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor) and leaf.untyped_storage()._cdata not in before:
                self._see(leaf.untyped_storage())
        return result

    def _see(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        if key in self.sizes or not storage.nbytes():
            return
        self.sizes[key] = storage.nbytes()
        self.references[key] = weakref.ref(storage, functools.partial(self._gone, key))
        self.now += storage.nbytes()
        self.peak = max(self.peak, self.now)
        self.on_change()

    def _gone(self, key: int, reference: Any) -> None:
        self.now -= self.sizes.pop(key)
        del self.references[key]


def real_memory(
    pipeline: Any, components: dict[str, torch.nn.Module], methods: set[str], arguments: Any
) -> list[RealPoint]:
    """Call the pipeline; weights and what was alive before do not count."""
    watch = StorageWatch()
    points: list[RealPoint] = []
    with _calls_noted(components, methods, watch, points), watch:
        pipeline(**arguments)
    return points


@contextmanager
def _calls_noted(
    components: dict[str, torch.nn.Module], methods: set[str], watch: StorageWatch, points: list[RealPoint]
) -> Iterator[None]:
    wrapped = []
    inside: list[str] = []
    for slot, component in components.items():
        for method in methods:
            original = getattr(component, method, None)
            if original is not None and method not in vars(component):
                setattr(component, method, _noting(slot, method, original, watch, points, inside))
                wrapped.append((component, method))
    try:
        yield
    finally:
        for component, method in wrapped:
            delattr(component, method)


def _noting(
    slot: str,
    method: str,
    original: Callable[..., Any],
    watch: StorageWatch,
    points: list[RealPoint],
    inside: list[str],
) -> Callable[..., Any]:
    @functools.wraps(original)
    def note(*args: Any, **kwargs: Any) -> Any:
        if inside:
            return original(*args, **kwargs)
        inside.append(slot)
        before = watch.peak = watch.now
        try:
            return original(*args, **kwargs)
        finally:
            inside.pop()
            points.append(RealPoint(slot, method, before, watch.peak, watch.now))

    return note
