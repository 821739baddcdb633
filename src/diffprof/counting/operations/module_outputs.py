"""Describe the inputs and outputs of a module call, to recognise equal calls and to create new outputs for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import torch

from diffprof.counting.operations.input_lists import KEPT

PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.Size})
"""Types of values that can be compared by equality."""
TENSORS = (torch.Tensor, torch.nn.Parameter)


class NotReplayableError(Exception):
    """A call with such inputs, outputs or effects must be counted each time."""


@dataclass
class Inputs:
    """The inputs of a module call that are tensors or lists."""

    tensors: list[torch.Tensor] = field(default_factory=list)
    """Without those in lists, which a call may replace and thereby free."""
    lists: list[list[Any]] = field(default_factory=list)
    storages: dict[int, int] = field(default_factory=dict)
    """Numbers of storages, by address."""


def input_signature(args: tuple[Any, ...], kwargs: dict[str, Any], inputs: Inputs) -> tuple[Any, Any] | None:
    """Return what a call can depend on, except values, and what is in the lists; None if it is not known.

    Its tensors and lists are added to `inputs`. Tensors in a dict, or in a list within a list, are not known.
    """
    with torch._C.DisableTorchFunction():  # modes would look at each question about a shape
        try:
            given = tuple([_describe_input(value, inputs) for value in args])
            named = tuple([(name, _describe_input(value, inputs)) for name, value in kwargs.items()])
            contents = tuple([tuple([_describe_element(part, inputs) for part in one]) for one in inputs.lists])
        except NotReplayableError:
            inputs.tensors.clear()  # hold nothing that the call may free
            return None
    return (given, named), contents


def _describe_input(value: Any, inputs: Inputs) -> Any:
    kind = type(value)
    if kind in TENSORS:
        inputs.tensors.append(value)
        return _describe_tensor(value, inputs)
    if kind is tuple:
        return kind, *[_describe_input(part, inputs) for part in value]
    if kind is list:
        places = [number for number, other in enumerate(inputs.lists) if other is value]
        if not places:
            inputs.lists.append(value)
        return kind, places[0] if places else len(inputs.lists) - 1
    return _describe_plain(value)


def _describe_tensor(tensor: torch.Tensor, inputs: Inputs) -> Any:
    storage = inputs.storages.setdefault(tensor.untyped_storage()._cdata, len(inputs.storages))
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.is_meta, storage


def _describe_element(value: Any, inputs: Inputs) -> Any:
    return _describe_tensor(value, inputs) if type(value) in TENSORS else _describe_plain(value)


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
        if kind in PLAIN or isinstance(value, Enum) or value is KEPT:
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
