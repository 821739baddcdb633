"""Offloaded pipelines and models, watched; weights that only say that they are on a GPU, streams that only count."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import accelerate
import accelerate.hooks
import pytest
import torch
from accelerate.hooks import AlignDevicesHook
from diffusers.hooks import group_offloading
from diffusers.hooks.group_offloading import GroupOffloadingConfig, GroupOffloadingType, ModuleGroup

from diffprof.record.measured import Iteration
from diffprof.runtime.instrumentation.iteration_recorder import IterationRecorder, set_current_iteration
from diffprof.runtime.instrumentation.pipeline_monitor import MonitoredCall, PipelineMonitor
from diffprof.runtime.instrumentation.weight_moves import record_moves
from tests.runtime.timing.fakes import FakeClock
from tests.small_pipelines import SMALL_PIPELINES

STEPS = 2
FLOAT32 = 4
POSITION_IDS = 77 * 8
"""A buffer of CLIP: 77 positions of 8 bytes."""


def built() -> Any:
    return SMALL_PIPELINES["stable-diffusion"].build()


def arguments() -> dict[str, Any]:
    return SMALL_PIPELINES["stable-diffusion"].arguments()


def run_monitored(pipeline: Any, **changes: Any) -> Iteration:
    """What there is to see in one call of the pipeline."""
    calls: list[MonitoredCall] = []
    watch = PipelineMonitor(pipeline, calls.append)
    watch.start()
    try:
        pipeline(**arguments(), **changes)
    finally:
        watch.stop()
    [call] = calls
    assert len(call.iteration.steps) == STEPS
    return call.iteration


@contextlib.contextmanager
def watching(model: torch.nn.Module, clock: FakeClock | None = None) -> Iterator[IterationRecorder]:
    """A call of a pipeline whose only component is `model`, or whose components are those in it."""
    components = dict(model.items()) if isinstance(model, torch.nn.ModuleDict) else {"component": model}
    places = {id(part): (slot, path) for slot, one in components.items() for path, part in one.named_modules()}
    undo = record_moves([part for one in components.values() for part in one.modules()])
    iteration = IterationRecorder(None, clock or FakeClock(), places)
    before = set_current_iteration(iteration)
    try:
        yield iteration
    finally:
        set_current_iteration(before)
        undo()


def weights_in(module: torch.nn.Module) -> int:
    return sum(weight.numel() for weight in module.parameters())


def bytes_moved(iteration: Iteration, component: str, direction: str, step: int | None = None) -> int:
    return sum(
        move.moved_bytes
        for move in iteration.moves
        if (move.component, move.direction, move.step) == (component, direction, step)
    )


OFFLOADS: dict[str, Callable[[Any, Path], Any]] = {
    "sequential": lambda pipeline, folder: accelerate.cpu_offload(pipeline.unet, "cpu"),
    "disk": lambda pipeline, folder: accelerate.disk_offload(pipeline.unet, folder, "cpu"),
    "model": lambda pipeline, folder: pipeline.enable_model_cpu_offload(device="cpu"),
    "leaf_level": lambda pipeline, folder: pipeline.enable_group_offload(
        torch.device("cpu:0"), offload_type="leaf_level"
    ),
    "block_level": lambda pipeline, folder: pipeline.enable_group_offload(
        torch.device("cpu:0"), offload_type="block_level", num_blocks_per_group=1
    ),
}


def functions_that_move(pipeline: Any) -> list[Any]:
    components = [part for part in pipeline.components.values() if isinstance(part, torch.nn.Module)]
    owners = [AlignDevicesHook, ModuleGroup, *(type(component) for component in components)]
    return [vars(owner).get(name) for owner in owners for name in ("pre_forward", "onload_", "offload_", "to")]


class OnDevice(torch.nn.Parameter):
    """A weight that says it lies on a GPU. Its data does not."""

    device = torch.device("cuda:0")
    __torch_function__ = torch._C._disabled_torch_function_impl


def play_gpu(component: torch.nn.Module) -> None:
    """Let the component's weights say that they lie on a GPU as long as they are on cpu:0; buffers do not play."""

    class Player(type(component)):  # type: ignore[misc]
        def to(self, *args: Any, **kwargs: Any) -> Any:
            result = super().to(*args, **kwargs)
            for weight in self.parameters():
                weight.__class__ = OnDevice if "cpu:0" in map(str, args) else torch.nn.Parameter
            return result

    component.__class__ = Player


def fill_as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """Have accelerate fill modules with weights that say they lie on a GPU; each takes a millisecond."""
    clock = FakeClock()

    def fill_on_gpu(module: torch.nn.Module, name: str, device: Any, value: Any = None, **options: Any) -> None:
        if value is None:
            module._parameters[name] = torch.nn.Parameter(torch.empty_like(module._parameters[name], device=device))
        else:
            clock.pass_milliseconds(1)
            module._parameters[name] = OnDevice(value)

    monkeypatch.setattr(accelerate.hooks, "set_module_tensor_to_device", fill_on_gpu)
    return clock


class GpuComponent(torch.nn.Module):
    """A component whose one weight lies wherever it was sent to last."""

    MILLISECONDS_PER_MOVE = 2

    def __init__(self, elements: int, clock: FakeClock, full: bool = False) -> None:
        super().__init__()
        self._clock, self._full = clock, full
        self.weight = torch.nn.Parameter(torch.ones(elements))
        self.place = torch.device("cpu")

    @property
    def place(self) -> torch.device:
        return self.weight.device

    @place.setter
    def place(self, place: torch.device) -> None:
        kind = OnDevice if place.type == "cuda" else torch.nn.Parameter
        self._parameters["weight"] = kind(torch.ones(self.weight.numel()))

    def to(self, device: Any, *args: Any, **kwargs: Any) -> GpuComponent:
        if self._full and torch.device(device).type == "cuda":
            raise torch.OutOfMemoryError("CUDA out of memory")
        self._clock.pass_milliseconds(self.MILLISECONDS_PER_MOVE)
        self.place = torch.device(device)
        for child in self.children():
            child.to(device, *args, **kwargs)
        return self

    def forward(self) -> None:
        return None


class FakeStream:
    """A stream on which everything is done at once."""

    waits = 0

    def synchronize(self) -> None:
        self.waits += 1


def with_stream(model: torch.nn.Module, monkeypatch: pytest.MonkeyPatch, folder: Path | None = None) -> FakeStream:
    """Offload each layer of the model as diffusers does with a stream. The CPU is the device, and memory is pinned."""
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor.clone())
    stream = FakeStream()
    monkeypatch.setattr(torch.cpu, "current_stream", lambda: stream)
    group_offloading._apply_group_offloading(
        model,
        GroupOffloadingConfig(
            onload_device=torch.device("cpu:0"),
            offload_device=torch.device("cpu:0"),  # not cpu: weights say that they are there, fetched or not
            offload_type=GroupOffloadingType.LEAF_LEVEL,
            non_blocking=False,
            record_stream=False,
            low_cpu_mem_usage=False,
            stream=stream,  # type: ignore[arg-type]
            offload_to_disk_path=None if folder is None else str(folder),
        ),
    )
    return stream
