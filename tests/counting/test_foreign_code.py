"""Code of a program is told from that of the libraries: by where it was written, also behind decorators."""

from __future__ import annotations

import functools

import pytest
import torch

from diffprof.counting import foreign_code
from diffprof.counting.foreign_code import is_foreign, kernel_name, runs_foreign_code


class OwnModule(torch.nn.Module):
    """A module of a program's own."""


def test_code_of_a_program_is_foreign_and_that_of_the_libraries_is_not() -> None:
    assert is_foreign("__main__") and is_foreign("cache_dit.cache") and is_foreign("nunchaku")
    assert not any(map(is_foreign, ("torch.nn", "diffusers.models", "transformers", "collections", "diffprof.api")))
    assert runs_foreign_code([OwnModule()])
    assert not runs_foreign_code([torch.nn.Linear(2, 2)])


def test_a_forward_that_was_replaced_is_found_behind_a_decorator() -> None:
    linear = torch.nn.Linear(2, 2)
    linear.forward = functools.wraps(linear.forward)(lambda x: x)  # type: ignore[method-assign]
    assert linear.forward.__module__.startswith("torch.")
    assert runs_foreign_code([linear])


def test_kernels_have_a_name_and_plain_values_have_none() -> None:
    kernel = type("JITFunction", (), {"__module__": "triton.runtime.jit"})()
    assert kernel_name(kernel) == "a kernel of triton"
    assert [kernel_name(value) for value in (3, "text", torch, len)] == [None] * 4


def test_a_class_that_another_thread_patches_meanwhile_is_looked_at_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Patched(torch.nn.Linear):
        pass

    Patched.__module__ = "torch.nn"
    real = foreign_code.functions_in

    def functions_in(value: object) -> list[object]:
        setattr(Patched, f"attribute_{len(vars(Patched))}", None)  # what a patch of another thread does
        return list(real(value))

    monkeypatch.setattr(foreign_code, "functions_in", functions_in)
    assert not runs_foreign_code([Patched(2, 2)])
