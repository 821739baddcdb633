"""Lists among the inputs of a module call, whose elements the call may replace: the caches of causal video decoders."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from diffprof.counting.operations.allocation_log import AllocationLog, LiveBytes, LiveStorage

Contents = tuple[tuple[Any, ...], ...]
"""Descriptions of the elements of each list."""


@dataclass(frozen=True)
class HeldTensor:
    """A tensor in a list. Nothing here keeps it alive, because the call may free it."""

    tensor: weakref.ref[torch.Tensor]
    place: tuple[int, int]
    """The number of the list, and the index in it."""
    storage: int
    """The address of its storage."""
    holders: tuple[int, int]
    """How many hold the tensor, and its storage."""


class HeldTensors:
    """The tensors in the lists that a module is called with."""

    def __init__(self, lists: Sequence[list[Any]]) -> None:
        self._lists = lists
        self._tensors = [
            _held(number, place, one)
            for number, one in enumerate(lists)
            for place, part in enumerate(one)
            if isinstance(part, torch.Tensor)
        ]

    def holders(self, index: int) -> tuple[int, int]:
        return self._tensors[index].holders

    def in_log(self, live: LiveBytes, log: AllocationLog) -> dict[int, LiveStorage]:
        """The storages that are in this log, by index of the tensor."""
        references = live.references_to({one.storage for one in self._tensors}) if self._tensors else {}
        found = {index: references.get(one.storage) for index, one in enumerate(self._tensors)}
        return {index: one for index, one in found.items() if one is not None and one.log is log}

    def replaced(self, contents: Sequence[Sequence[Any]]) -> dict[int, tuple[int, int]]:
        """The tensors that are not in their places any more, and how many held them."""
        return {
            index: one.holders
            for index, one in enumerate(self._tensors)
            if contents[one.place[0]][one.place[1]] is not KEPT
        }

    def contents(self, before: Contents, after: Contents) -> list[list[Any]] | None:
        """What is in the lists after the call, with `KEPT` for what was left; None if that cannot be repeated.

        `before` and `after` describe the elements.
        """
        if list(map(len, before)) != list(map(len, after)):
            return None
        kept = {one.place for one in self._tensors if one.tensor() is self._lists[one.place[0]][one.place[1]]}
        found = []
        for number, one in enumerate(self._lists):
            parts: list[Any] = []
            for place, part in enumerate(one):
                is_plain = not isinstance(part, torch.Tensor)
                is_same = before[number][place] == after[number][place] if is_plain else (number, place) in kept
                if isinstance(part, (list, dict)) and not is_same:
                    return None
                parts.append(KEPT if is_same else part)
            found.append(parts)
        return found


def _held(number: int, place: int, elements: list[Any]) -> HeldTensor:
    tensor = elements[place]
    storage = tensor.untyped_storage()._cdata
    holders = (sys.getrefcount(tensor), torch._C._storage_Use_Count(storage))
    return HeldTensor(weakref.ref(tensor), (number, place), storage, holders)


KEPT = ...
"""Stands for an element that a call has left as it was."""


def fill(lists: Sequence[list[Any]], contents: Sequence[Sequence[Any]]) -> None:
    """Replace the elements of the lists, except for those that a call leaves."""
    for one, parts in zip(lists, contents, strict=True):
        for place, part in enumerate(parts):
            if part is not KEPT:
                one[place] = part
