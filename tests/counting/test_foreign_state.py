"""State that code outside of the libraries keeps anywhere is put back after a dry run."""

from __future__ import annotations

import functools
import sys
import types
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch

import diffprof
from diffprof.counting.pipeline_state import PipelineState
from diffprof.errors import UncountableError
from tests.small_pipelines import SMALL_PIPELINES

COUNTER = 0
HISTORY: deque[int] = deque([1])
NAMESPACE = SimpleNamespace(residual=None)


class Slotted:
    """An object without a dictionary."""

    __slots__ = ("kept",)


class Kept:
    """State of a class, which has a class method to change it."""

    store: ClassVar[dict[str, Any]] = {}
    last: Any = None

    @classmethod
    def keep(cls, value: Any) -> None:
        cls.store["value"] = value
        cls.last = value


SLOTTED = Slotted()


@functools.lru_cache
def table(size: int) -> list[int]:
    return [size]


def keep_everywhere(value: Any) -> None:
    """What a cache of another library might do, by a function that its `forward` calls."""
    global COUNTER, CREATED
    COUNTER += 1
    CREATED = value
    HISTORY.append(2)
    NAMESPACE.residual = value
    SLOTTED.kept = value
    Kept.keep(value)
    table(3)


class KeepingModule(torch.nn.Module):
    """A module of a program's own."""

    kept_on_class: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        keep_everywhere(x)
        type(self).kept_on_class = x
        return x


def test_what_a_function_reaches_is_put_back() -> None:
    module = KeepingModule()
    pipeline = SimpleNamespace()
    state = PipelineState(pipeline, [module], {})
    module(torch.ones(1))
    assert COUNTER == 1 and Kept.last is not None
    state.restore()
    assert (COUNTER, list(HISTORY), Kept.store, Kept.last) == (0, [1], {}, None)
    assert (NAMESPACE.residual, KeepingModule.kept_on_class) == (None, None)
    assert not hasattr(SLOTTED, "kept")
    assert "CREATED" not in globals()
    assert table.cache_info().currsize == 0
    assert not state.unknown and not state.kernels


class NativeModule(torch.nn.Module):
    """A module that calls a kernel which PyTorch knows nothing of."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return KERNEL(x)  # type: ignore[no-any-return]


KERNEL: Any = None


@pytest.mark.parametrize("kind", ["a Triton kernel", "an extension module"])
def test_a_kernel_outside_of_torch_is_refused_before_it_is_launched(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    launched: list[Any] = []
    if kind == "a Triton kernel":
        owner = type("JITFunction", (), {"__module__": "triton.runtime.jit", "__call__": launched.append})
        monkeypatch.setitem(globals(), "KERNEL", owner())
    else:
        from importlib.machinery import ExtensionFileLoader, ModuleSpec

        library = tmp_path / "_C.so"
        library.write_bytes(b"\x7fELF" + b"libtorch_python.so\0libc10.so")
        extension = types.ModuleType("nunchaku._C")
        extension.__spec__ = ModuleSpec("nunchaku._C", ExtensionFileLoader("nunchaku._C", str(library)))
        monkeypatch.setitem(sys.modules, "nunchaku._C", extension)
        monkeypatch.setitem(globals(), "KERNEL", extension)
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    pipeline.unet.conv_act = NativeModule()
    with pytest.raises(UncountableError, match="which is not an operation of PyTorch and would be launched on memory"):
        diffprof.profile(pipeline, **small.arguments())
    assert not launched


def test_an_object_whose_state_cannot_be_put_back_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "KERNEL", iter(list(range(3))))
    state = PipelineState(SimpleNamespace(), [NativeModule()], {})
    assert state.unknown == ("an object of builtins.list_iterator",)
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    pipeline.unet.conv_act = NativeModule()
    with pytest.raises(UncountableError, match="whose state could not be restored afterwards"):
        diffprof.profile(pipeline, **small.arguments())
    assert list(KERNEL) == [0, 1, 2]
