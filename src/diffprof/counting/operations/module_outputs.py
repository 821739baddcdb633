"""Describe the inputs and outputs of a module call, to recognise equal calls and to create new outputs for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch

PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.Size})
"""Types of values that can be compared by equality."""
TENSORS = (torch.Tensor, torch.nn.Parameter)


class NotReplayableError(Exception):
    """A call with such inputs, outputs or effects must be counted each time."""


def input_signature(args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[torch.Tensor]) -> Any:
    """Return what a call can depend on, except values; None if it is not known. Its tensors are added to `tensors`.

    Tensors in a list or dict are excluded: a call may replace and thereby free them.
    """
    storages: dict[int, int] = {}
    try:
        given = [_describe_input(value, tensors, storages) for value in args]
        named = [(name, _describe_input(value, tensors, storages)) for name, value in kwargs.items()]
    except NotReplayableError:
        tensors.clear()
        return None
    return tuple(given), tuple(named)


def _describe_input(value: Any, tensors: list[torch.Tensor], storages: dict[int, int]) -> Any:
    kind = type(value)
    if kind in TENSORS:
        tensors.append(value)
        storage = storages.setdefault(value.untyped_storage()._cdata, len(storages))
        return value.shape, value.stride(), value.dtype, value.is_meta, storage
    if kind is tuple:
        return kind, *[_describe_input(part, tensors, storages) for part in value]
    return _describe_plain(value)


def _describe_plain(value: Any) -> Any:
    kind = type(value)
    if kind in PLAIN or isinstance(value, Enum):
        return kind, value
    if kind is list or kind is tuple:
        return kind, *map(_describe_plain, value)
    if kind is dict:
        return kind, *[(name, _describe_plain(part)) for name, part in value.items()]
    raise NotReplayableError


@dataclass(frozen=True)
class _InputTensor:
    """An input that is returned."""

    number: int

    def make(self, tensors: Sequence[torch.Tensor], storages: Mapping[int, Any]) -> Any:
        return tensors[self.number]


@dataclass(frozen=True)
class _View:
    """A virtual tensor in the storage of an input or in a new one."""

    of_input: bool
    number: int
    shape: torch.Size
    stride: tuple[int, ...]
    offset: int
    dtype: torch.dtype

    def make(self, tensors: Sequence[torch.Tensor], storages: Mapping[int, Any]) -> Any:
        storage = tensors[self.number].untyped_storage() if self.of_input else storages[self.number]
        blank = torch.empty(0, dtype=self.dtype, device="meta")
        return blank.set_(storage, self.offset, self.shape, self.stride)


@dataclass(frozen=True)
class _Container:
    kind: type
    parts: tuple[Any, ...]
    names: tuple[Any, ...] = ()

    def make(self, tensors: Sequence[torch.Tensor], storages: Mapping[int, Any]) -> Any:
        made = [part.make(tensors, storages) for part in self.parts]
        return dict(zip(self.names, made, strict=True)) if self.kind is dict else self.kind(made)


@dataclass(frozen=True)
class _Value:
    value: Any

    def make(self, tensors: Sequence[torch.Tensor], storages: Mapping[int, Any]) -> Any:
        return self.value


@dataclass(frozen=True)
class OutputPlan:
    """A recipe for creating an output like that of a call."""

    root: Any
    storages: dict[int, int]
    """The bytes of each new storage, by number."""

    def make(self, tensors: Sequence[torch.Tensor]) -> tuple[Any, dict[int, Any]]:
        """Create the output of a call with these tensors; return it with its new storages, by number."""
        with torch._C._DisableTorchDispatch():
            made = {number: torch.UntypedStorage(size, device="meta") for number, size in self.storages.items()}
            return self.root.make(tensors, made), made


def plan_output(output: Any, tensors: Sequence[torch.Tensor], numbers: Mapping[int, int]) -> OutputPlan:
    """Plan how to create an output like this one; `numbers` are those of new storages, by address."""
    planning = _OutputPlanner(tensors, numbers)
    return OutputPlan(planning.plan(output), planning.storages)


class _OutputPlanner:
    # Not nested functions: recursive ones would keep the tensors alive until garbage collection.
    def __init__(self, tensors: Sequence[torch.Tensor], numbers: Mapping[int, int]) -> None:
        self.storages: dict[int, int] = {}
        self._numbers = numbers
        self._inputs = {id(tensor): number for number, tensor in reversed(list(enumerate(tensors)))}
        self._input_storages = {tensor.untyped_storage()._cdata: number for number, tensor in enumerate(tensors)}

    def plan(self, value: Any) -> Any:
        kind = type(value)
        if kind in TENSORS:
            return _InputTensor(self._inputs[id(value)]) if id(value) in self._inputs else self._plan_tensor(value)
        if kind in PLAIN or isinstance(value, Enum):
            return _Value(value)
        if kind is list or kind is tuple:
            return _Container(kind, tuple(map(self.plan, value)))
        if kind is dict:
            return _Container(kind, tuple(map(self.plan, value.values())), tuple(value))
        raise NotReplayableError

    def _plan_tensor(self, tensor: torch.Tensor) -> _View:
        storage = tensor.untyped_storage()
        of_input = self._input_storages.get(storage._cdata)
        number = self._numbers.get(storage._cdata) if of_input is None else of_input
        if number is None or not tensor.is_meta or tensor.requires_grad:
            raise NotReplayableError  # from elsewhere, or with values
        if of_input is None:
            self.storages[number] = storage.nbytes()
        offset = int(tensor.storage_offset())
        return _View(of_input is not None, number, tensor.shape, tensor.stride(), offset, tensor.dtype)
