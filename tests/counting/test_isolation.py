"""A dry run is kept apart from what is around it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diffprof.counting import isolation
from diffprof.errors import DiffprofError
from tests.small_pipelines import SMALL_PIPELINES


def test_a_dry_run_inside_of_another_is_refused() -> None:
    with (
        isolation.refuse_nesting(),
        pytest.raises(DiffprofError, match="while another one is being made"),
        isolation.refuse_nesting(),
    ):
        pass
    assert not isolation.is_dry_running()


def test_only_the_thread_of_the_dry_run_is_in_it() -> None:
    with isolation.refuse_nesting(), ThreadPoolExecutor(1) as other:
        assert isolation.is_dry_running()
        assert not other.submit(isolation.is_dry_running).result()


def test_the_number_of_threads_is_put_back() -> None:
    before = torch.get_num_threads()
    with isolation.single_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_schedulers_are_copies_inside_and_the_pipelines_own_afterwards() -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    own = pipeline.scheduler
    with isolation.scheduler_copies(pipeline) as copies:
        assert pipeline.scheduler is copies["scheduler"]
        assert pipeline.scheduler is not own
    assert pipeline.scheduler is own


def test_what_a_scheduler_keeps_on_a_gpu_is_not_copied_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    pipeline.scheduler.set_timesteps(4)
    kept = pipeline.scheduler.timesteps
    monkeypatch.setattr(isolation, "is_accelerator", lambda device: True)
    with isolation.scheduler_copies(pipeline) as copies:
        # On a GPU this would be a copy in main memory, which is what the CPU's own tensors are already.
        assert copies["scheduler"].timesteps is kept


def test_a_generator_of_an_accelerator_is_replaced_by_one_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "is_accelerator", lambda device: True)
    generator = torch.Generator()
    arguments = isolation.with_generators_on_host({"generator": [generator], "prompt": "a cat"})
    assert arguments["prompt"] == "a cat"
    assert arguments["generator"][0] is not generator


def test_a_generator_of_the_host_is_left_as_it_is() -> None:
    generator = torch.Generator()
    assert isolation.with_generators_on_host({"generator": generator})["generator"] is generator


def test_code_with_kernels_that_nobody_knows_is_refused_by_name() -> None:
    state: Any = SimpleNamespace(kernels=["nunchaku.gemm"], unknown=[])
    with pytest.raises(DiffprofError, match=r"nunchaku\.gemm.*not an operation of PyTorch"):
        isolation.refuse_unknown_code(object(), state)
