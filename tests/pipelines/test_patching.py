"""Patches last as long as their block, for their thread only, and put the very same objects back."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from diffprof.pipelines.patching import Patches


class Base:
    def value(self) -> int:
        return 1

    @property
    def size(self) -> int:
        return 10


class Derived(Base):
    pass


def in_another_thread(function: Any) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_a_function_is_replaced_for_this_thread_only() -> None:
    before = vars(Base)["value"]
    with Patches() as patches:
        patches.function(Base, "value", lambda original: lambda self: original(self) + 1)
        assert Base().value() == 2
        assert in_another_thread(Base().value) == 1
    assert vars(Base)["value"] is before


def test_a_property_is_replaced_for_this_thread_only() -> None:
    before = vars(Base)["size"]
    with Patches() as patches:
        patches.property(Base, "size", 3)
        assert Base().size == 3
        assert in_another_thread(lambda: Base().size) == 10
    assert vars(Base)["size"] is before


def test_an_inherited_function_is_gone_from_the_class_afterwards() -> None:
    with Patches() as patches:
        patches.function(Derived, "value", lambda original: lambda self: 5)
        assert (Derived().value(), Base().value()) == (5, 1)
    assert "value" not in vars(Derived)


def test_everything_is_restored_in_reverse_order_also_after_an_exception() -> None:
    before = vars(Base)["value"]
    with pytest.raises(KeyError), Patches() as patches:
        patches.function(Base, "value", lambda original: lambda self: original(self) * 10)
        patches.function(Base, "value", lambda original: lambda self: original(self) + 7)
        assert Base().value() == 17
        raise KeyError
    assert vars(Base)["value"] is before
