"""The processes of torchrun: which one this is, its device, and what is refused before they meet."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diffprof.errors import RequestError
from diffprof.pipelines.loading.placement import target_of
from diffprof.pipelines.loading.ranks import Rank, check_ranks, device_of_rank, join_ranks, spread_denoisers, this_rank
from diffprof.record.preparation import Preparation
from tests.small_pipelines import SMALL_PIPELINES

CUDA = torch.device("cuda")


@pytest.fixture
def torchrun(monkeypatch: pytest.MonkeyPatch) -> Any:
    """This process as one of those that torchrun starts."""

    def pretend(rank: object, count: object) -> None:
        for name, value in (("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", count)):
            monkeypatch.setenv(name, str(value))

    return pretend


def test_a_process_that_torchrun_did_not_start_is_the_only_one() -> None:
    assert this_rank() == Rank(0, 0, 1)
    with join_ranks(torch.device("cpu")) as rank:
        assert rank.is_first
        assert not torch.distributed.is_initialized()


def test_torchrun_says_who_is_who(torchrun: Any) -> None:
    torchrun(1, 2)
    assert this_rank() == Rank(1, 1, 2)
    torchrun("one", 2)
    with pytest.raises(RequestError, match="start it with torchrun"):
        this_rank()


def test_another_number_of_processes_than_needed_is_refused(torchrun: Any) -> None:
    preparation = Preparation.create(parallel="ulysses=2")
    with pytest.raises(
        RequestError, match=r"needs 2 processes and there is 1; start it with `torchrun --nproc-per-node 2"
    ):
        check_ranks(preparation)
    torchrun(0, 4)
    with pytest.raises(RequestError, match="needs 2 processes and there are 4"):
        check_ranks(preparation)
    torchrun(0, 2)
    assert check_ranks(preparation) == Rank(0, 0, 2)


def test_every_rank_has_its_own_device_and_more_ranks_than_devices_are_refused(
    torchrun: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "cuda", SimpleNamespace(device_count=lambda: 2, is_available=lambda: True))
    assert device_of_rank(CUDA, Rank(1, 1, 2)) == torch.device("cuda:1")
    assert device_of_rank(CUDA, Rank()) == CUDA
    assert device_of_rank(torch.device("cuda:0"), Rank(1, 1, 2)) == torch.device("cuda:0")
    torchrun(2, 3)
    with pytest.raises(
        RequestError, match=r"rank 2 has no device: this machine has 2 of the kind cuda.*--nproc-per-node 2"
    ):
        target_of("cuda", None)


def test_what_diffusers_cannot_spread_is_refused_in_its_words() -> None:
    preparation = Preparation.create(parallel="ulysses=2")
    with pytest.raises(RequestError, match="unet cannot be split across ranks with ulysses=2"):
        spread_denoisers(SMALL_PIPELINES["stable-diffusion"].build(), preparation)
