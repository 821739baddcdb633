"""Lists that a module is called with: what is in them before and after, without holding any of it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import torch

from diffprof.counting.operations.allocation_log import AllocationLog, LiveBytes
from diffprof.counting.operations.input_lists import KEPT, HeldTensors, fill


def virtual(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device="meta")


def described(lists: list[list[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(str(part) for part in one) for one in lists)


def test_what_was_left_is_kept_and_what_was_replaced_is_named_with_its_holders() -> None:
    lists: list[list[Any]] = [[virtual(2), virtual(3), None], [0]]
    held, before = HeldTensors(lists), described(lists)
    lists[0][1], lists[1][0] = virtual(3), 1
    contents = held.contents(before, described(lists))
    assert contents == [[KEPT, lists[0][1], KEPT], [1]]
    assert held.replaced(contents) == {1: held.holders(1)}


def test_who_else_holds_a_tensor_is_seen() -> None:
    lists = [[virtual(2), virtual(2)]]
    elsewhere, view = lists[0][0], lists[0][1][:1]
    alone, held = HeldTensors([[virtual(2), virtual(2)]]), HeldTensors(lists)
    assert all(held.holders(index) != alone.holders(index) for index in (0, 1))
    assert alone.holders(0) == alone.holders(1)
    del elsewhere, view


def test_lists_of_another_length_and_changed_lists_in_them_cannot_be_repeated() -> None:
    lists: list[list[Any]] = [[virtual(2)], [[1]]]
    held, before = HeldTensors(lists), described(lists)
    lists[1][0].append(2)
    assert held.contents(before, described(lists)) is None
    lists[1][0].pop()
    assert held.contents(before, described(lists)) == [[KEPT], [KEPT]]
    lists[0].append(virtual(2))
    assert held.contents(before, described(lists)) is None


def test_tensors_of_the_call_are_known_by_their_numbers_and_none_is_kept_alive() -> None:
    live, other = LiveBytes(), AllocationLog()
    lists = [[virtual(2), virtual(3), virtual(4)]]
    live.add(lists[0][0])
    live.add(lists[0][2])
    held = HeldTensors(lists)
    assert {index: one.number for index, one in held.in_log(live, live.log).items()} == {0: 0, 2: 1}
    assert held.in_log(live, other) == {}
    freed = weakref.ref(lists[0][0])
    fill(lists, [[None, KEPT, KEPT]])
    gc.collect()
    assert freed() is None and lists[0][0] is None and live.now == 4 * 4
