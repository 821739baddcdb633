"""The count does not depend on what the caller has switched on around it."""

from __future__ import annotations

import types
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import diffprof
from diffprof.counting.environment_patches import without_autocast
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.counting.pipeline_layout import is_captured
from diffprof.errors import UncountableError
from tests.counting.real_mode import RealMode
from tests.extensive import split_cases
from tests.small_pipelines import SMALL_PIPELINES

AROUND: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "inference mode": torch.inference_mode,
    "no gradients": torch.no_grad,
    "gradients": torch.enable_grad,
    "the CPU as default device": lambda: torch.device("cpu"),
    "another counter": lambda: FlopCounterMode(display=False),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND.keys())
@pytest.mark.parametrize("name", split_cases(["stable-diffusion", "flux"], always=("stable-diffusion",)))
def test_the_environment_does_not_change_a_profile(name: str, around: Any) -> None:
    small = SMALL_PIPELINES[name]
    pipeline = small.build()
    expected = diffprof.profile(pipeline, **small.arguments())
    with around():
        done = diffprof.profile(pipeline, **small.arguments())
    assert done.total.macs == expected.total.macs
    assert done.total.other_flops == expected.total.other_flops
    assert done.ledger.unknown == expected.ledger.unknown == {}


def test_a_pipeline_that_was_made_in_inference_mode_can_be_profiled() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    with torch.inference_mode():
        pipeline = small.build()
    expected = diffprof.profile(small.build(), **small.arguments()).total.macs
    assert diffprof.profile(pipeline, **small.arguments()).total.macs == expected


def test_a_real_run_in_inference_mode_counts_the_same() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline = small.build()
    recorder = OperationRecorder()
    with torch.inference_mode(), RealMode(recorder):
        pipeline(**small.arguments())
    assert recorder.outside.cost(0).work.macs == diffprof.profile(pipeline, **small.arguments()).total.macs


def test_the_default_dtype_stays_and_does_not_matter() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline = small.build()
    expected = diffprof.profile(pipeline, **small.arguments()).total.macs
    torch.set_default_dtype(torch.float64)
    try:
        assert diffprof.profile(pipeline, **small.arguments()).total.macs == expected
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_pipelines_own_progress_bars_are_silent_while_it_is_counted(capfd: pytest.CaptureFixture[str]) -> None:
    from tqdm.auto import tqdm

    small = SMALL_PIPELINES["marigold-depth"]
    pipeline = small.build()
    pipeline.set_progress_bar_config(disable=False)
    capfd.readouterr()
    diffprof.profile(pipeline, **small.arguments())
    assert "it/s" not in "".join(capfd.readouterr())
    assert list(tqdm(range(2))) == [0, 1]
    assert "2/2" in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["cpu", "cuda", "xpu", "mps"])
def test_the_casts_of_every_kind_of_device_are_off(kind: str) -> None:
    torch.set_autocast_enabled(kind, True)
    try:
        with without_autocast():
            assert not torch.is_autocast_enabled(kind)
        assert torch.is_autocast_enabled(kind)
    finally:
        torch.set_autocast_enabled(kind, False)


def graphed_forward(module: torch.nn.Module, replay: Callable[..., Any]) -> Any:
    """What `torch.cuda.make_graphed_callables` puts in the place of a `forward`, made by its own code."""
    parts = torch.cuda.make_graphed_callables.__code__.co_consts
    (code,) = (part for part in parts if isinstance(part, types.CodeType) and part.co_name == "make_graphed_forward")
    create = types.FunctionType(code, vars(torch.cuda.graphs))
    return create(module, module.training, replay, module.forward)


class AOTICompiledModel:
    """Stands in for a model that AOTInductor has compiled: called without data, the process would end."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the compiled model was called without data")


AOTICompiledModel.__module__ = "torch.export.pt2_archive._package"


def refuse(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("the graph was replayed")


@pytest.mark.parametrize("way", ["graph", "compiled ahead of time"])
def test_a_forward_that_was_captured_or_compiled_before_counts_as_that_of_its_class(way: str) -> None:
    small = SMALL_PIPELINES["flux"]
    pipeline: Any = small.build()
    expected = diffprof.profile(pipeline, **small.arguments())
    model = pipeline.transformer
    model.forward = captured = graphed_forward(model, refuse) if way == "graph" else AOTICompiledModel()
    assert is_captured(captured) and not is_captured(type(model).forward)
    assert diffprof.profile(pipeline, **small.arguments()).calls == expected.calls
    assert model.forward is captured, "it is put back"


class CUDAGraph:
    """Stands in for a graph that somebody has captured."""

    def replay(self) -> None:
        raise AssertionError("the graph was replayed")


CUDAGraph.__module__ = "torch.cuda.graphs"


def test_a_graph_that_a_program_replays_itself_is_not_replayed_without_data() -> None:
    small = SMALL_PIPELINES["flux"]
    pipeline: Any = small.build()
    graph = CUDAGraph()

    def forward(*args: Any, **kwargs: Any) -> Any:
        graph.replay()

    pipeline.transformer.forward = forward
    with pytest.raises(UncountableError, match="calls a captured CUDA graph"):
        diffprof.profile(pipeline, **small.arguments())
