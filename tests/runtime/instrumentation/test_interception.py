"""Functions of classes that somebody looks at."""

from __future__ import annotations

import threading
from typing import Any

import torch

import diffprof
from diffprof.runtime.instrumentation.interception import intercept
from tests.small_pipelines import SMALL_PIPELINES


class Base:
    def double(self, number: int) -> int:
        return 2 * number

    def __call__(self, number: int) -> int:
        return number + 1


class Derived(Base):
    pass


def noting(name: str, notes: list[str]) -> Any:
    def handler(original: Any, subject: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        notes.append(f"{name} sees {args[0]}")
        return original(subject, *args, **kwargs)

    return handler


def test_a_handler_makes_the_call_and_the_function_is_the_very_same_afterwards() -> None:
    before, notes = vars(Base)["double"], list[str]()
    undo = intercept(Base, "double", noting("it", notes))
    assert Base().double(21) == 42
    assert notes == ["it sees 21"]
    undo()
    assert vars(Base)["double"] is before


def test_an_inherited_function_is_intercepted_for_the_derived_class_only() -> None:
    notes: list[str] = []
    undo = intercept(Derived, "__call__", noting("it", notes))
    assert (Base()(1), Derived()(2)) == (2, 3)
    assert notes == ["it sees 2"]
    undo()
    assert "__call__" not in vars(Derived)


def test_several_handlers_nest_and_leave_in_any_order() -> None:
    before, notes = vars(Base)["double"], list[str]()
    first = intercept(Base, "double", noting("first", notes))
    second = intercept(Base, "double", noting("second", notes))
    Base().double(1)
    assert notes == ["second sees 1", "first sees 1"]
    first()
    Base().double(2)
    assert notes[2:] == ["second sees 2"]
    second()
    second()  # once more does no harm
    assert vars(Base)["double"] is before


def test_counts_during_a_measurement_leave_the_class_as_it_was() -> None:
    # GIVEN a class that a dry run changes too
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    owner = type(pipeline.vae)
    before, notes = vars(owner)["decode"], list[str]()

    def shaped(original: Any, subject: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        notes.append("decoded")
        return original(subject, *args, **kwargs)

    expected = diffprof.profile(pipeline, **small.arguments())
    # WHEN it is intercepted in this thread while another counts
    counted: list[Any] = []
    counting = threading.Thread(target=lambda: counted.append(diffprof.profile(pipeline, **small.arguments())))
    counting.start()
    undo = intercept(owner, "decode", shaped)
    counting.join()
    # THEN both are right, and nothing is left
    assert diffprof.profile(pipeline, **small.arguments()) == expected == counted[0]
    undo()
    assert vars(owner)["decode"] is before
    pipeline.vae.decode(torch.zeros(1, 4, 4, 4))
    assert len(notes) <= 2
