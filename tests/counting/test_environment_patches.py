"""The count does not depend on what the caller has switched on around it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import diffprof
from diffprof.counting.operations.recorder import OperationRecorder
from tests.counting.real_mode import RealMode
from tests.small_pipelines import SMALL_PIPELINES

AROUND: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "inference mode": torch.inference_mode,
    "no gradients": torch.no_grad,
    "gradients": torch.enable_grad,
    "the CPU as default device": lambda: torch.device("cpu"),
    "another counter": lambda: FlopCounterMode(display=False),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND.keys())
@pytest.mark.parametrize("name", ["stable-diffusion", "flux"])
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
