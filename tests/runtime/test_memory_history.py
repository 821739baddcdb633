"""A snapshot of the GPU's memory is written when it is asked for, and when memory ran out; there is no GPU here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from diffprof.errors import OutOfMemoryError, RequestError
from diffprof.runtime.memory_history import label_allocations, memory_snapshot, snapshot_file, snapshot_of_failure
from diffprof.traces.memory.explain import explain_snapshot

CONTENT = {"segments": [{"device": 0, "total_size": 8, "blocks": []}], "device_traces": [[]]}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The functions of ``torch.cuda.memory`` of a machine with a GPU; how recording was switched."""
    switched: list[dict[str, Any]] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", lambda **options: switched.append(options))
    monkeypatch.setattr(torch.cuda.memory, "_snapshot", lambda: CONTENT)
    return switched


def test_a_requested_snapshot_is_recorded_and_written(gpu: list[dict[str, Any]], tmp_path: Path) -> None:
    with memory_snapshot(tmp_path, requested=True):
        assert "max_entries" in gpu[0]
        assert gpu[0]["stacks"] == "python", "C++ frames cannot be recorded on ARM, and take minutes to be named"
    assert gpu[1:] == [{"enabled": None}]
    assert explain_snapshot(snapshot_file(tmp_path))[0].reserved_bytes == 8


def test_where_memory_ran_out_one_is_written_without_being_asked_for(gpu: Any, tmp_path: Path) -> None:
    with pytest.raises(OutOfMemoryError) as raised, memory_snapshot(tmp_path, requested=False):
        raise OutOfMemoryError("Pipeline", "2 GiB")
    assert raised.value.snapshot == snapshot_file(tmp_path)
    assert snapshot_file(tmp_path).is_file()
    assert gpu == [], "nothing was recorded"


def test_otherwise_none_is_written(gpu: Any, tmp_path: Path) -> None:
    with memory_snapshot(tmp_path, requested=False):
        pass
    with pytest.raises(ValueError, match="something else"), memory_snapshot(tmp_path, requested=False):
        raise ValueError("something else")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="shows what a machine without a GPU says")
def test_without_a_gpu_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="needs a CUDA or ROCm device"), memory_snapshot(tmp_path, requested=True):
        pass


def test_a_driver_that_fails_again_hides_nothing(gpu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("CUDA error: unspecified launch failure")

    monkeypatch.setattr(torch.cuda.memory, "_snapshot", fail)
    assert snapshot_of_failure(tmp_path) is None
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    assert snapshot_of_failure(tmp_path) is None


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(self.linear(x)) + 1


class TwoPartPipeline:
    """What `components_of` needs of a pipeline."""

    _execution_device = torch.device("cuda", 1)

    def __init__(self) -> None:
        self.unet, self.vae = Block(), Block()
        self.config = {"unet": None, "vae": None}


class Labels:
    """What was set on which device, as torch does it: on the one that is current."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.set: list[tuple[int, str]] = []
        self.current = 0
        monkeypatch.setattr(torch.cuda, "current_device", lambda: self.current)
        monkeypatch.setattr(torch.cuda, "device", self.device)
        monkeypatch.setattr(torch.cuda.memory, "_set_memory_metadata", self.add)

    @contextlib.contextmanager
    def device(self, index: int) -> Iterator[None]:
        before, self.current = self.current, index
        yield
        self.current = before

    def add(self, label: str) -> None:
        self.set.append((self.current, label))


def test_allocations_are_labelled_with_the_module_that_is_called(
    gpu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = Labels(monkeypatch)
    pipeline = TwoPartPipeline()
    with memory_snapshot(tmp_path, requested=True), label_allocations(pipeline):
        pipeline.vae(pipeline.unet(torch.ones(1, 2)))
    pipeline.unet(torch.ones(1, 2))
    expected = ["unet", "unet.linear", "unet", "", "vae", "vae.linear", "vae", ""]
    assert labels.set == [(1, label) for label in expected], "on the device that the pipeline runs on"


def test_allocations_of_every_device_of_the_pipeline_are_labelled(
    gpu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = Labels(monkeypatch)
    pipeline = TwoPartPipeline()
    pipeline.vae.hf_device_map = {"": 2}  # type: ignore[assignment]
    with memory_snapshot(tmp_path, requested=True), label_allocations(pipeline):
        pipeline.vae.linear(torch.ones(1, 2))
    assert labels.set == [(1, "vae.linear"), (2, "vae.linear"), (1, ""), (2, "")]


def test_nothing_is_labelled_where_nothing_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda.memory, "_set_memory_metadata", lambda label: pytest.fail(label))
    pipeline = TwoPartPipeline()
    with memory_snapshot(tmp_path, requested=False), label_allocations(pipeline):
        pipeline.unet(torch.ones(1, 2))


def test_every_rank_writes_a_snapshot_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    assert snapshot_file(tmp_path).name == "memory_snapshot.rank1.pickle"
