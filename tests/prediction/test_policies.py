"""The peak under each policy is that of a real run on the CPU, whose hooks say which weights would be on a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from accelerate import hooks as accelerate_hooks
from diffusers.hooks import group_offloading

import diffprof
from diffprof.pipelines.components import components_of
from diffprof.prediction import allocator
from diffprof.prediction.device_memory import DeviceMemory
from diffprof.prediction.memory_simulation import predict_memory
from diffprof.record.run_settings import RunSettings
from tests.prediction.real_memory import StorageWatch, real_memory
from tests.small_pipelines import SMALL_PIPELINES

TOLERANCE = 0.02
PIPELINES = ("stable-diffusion", "flux", "wan-2.1")

# Without tensor cores for float32: no copies for convolutions, which a CPU does not make either.
VOLTA = DeviceMemory("volta")


def predicted_peak(profile: diffprof.Profile, **settings: Any) -> int:
    """The bytes at the peak, by an allocator that does not round: rounding is much of a model as small as these."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allocator, "SMALLEST_BLOCK", 1)
        patch.setattr(allocator, "SMALL_REQUEST", 1 << 60)
        patch.setattr(allocator, "SMALL_SEGMENT", 1 << 60)
        stages = predict_memory(profile, RunSettings(**settings), VOLTA)
    return max(stage.allocated_bytes for stage in stages) - VOLTA.matrix_workspace_bytes


class Resident:
    """A device that the CPU stands in for: the weights that hooks have brought there, and the peak with them."""

    def __init__(self, watch: StorageWatch) -> None:
        self.watch = watch
        self.weights = 0
        self.peak = 0
        watch.on_change = self.look

    def look(self) -> None:
        self.peak = max(self.peak, self.weights + self.watch.now)

    def change(self, size: int) -> None:
        self.weights += size
        self.look()


def weight_bytes(*modules: torch.nn.Module) -> int:
    return sum(weight.nbytes for module in modules for weight in module.parameters())


@contextmanager
def followed_model_offload(resident: Resident, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Notes what accelerate's hooks bring and take away, where both devices are the CPU."""
    there: dict[int, int] = {}
    take = accelerate_hooks.UserCpuOffloadHook.offload

    def pre_forward(hook: Any, module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        if hook.prev_module_hook is not None:
            hook.prev_module_hook.offload()
        if id(module) not in there:
            there[id(module)] = weight_bytes(module)
            resident.change(there[id(module)])
        return args, kwargs

    def offload(hook: Any) -> None:
        take(hook)
        resident.change(-there.pop(id(hook.model), 0))

    monkeypatch.setattr(accelerate_hooks.CpuOffload, "pre_forward", pre_forward)
    monkeypatch.setattr(accelerate_hooks.UserCpuOffloadHook, "offload", offload)
    yield


@contextmanager
def followed_group_offload(resident: Resident, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    there: dict[int, int] = {}

    def onload(group: Any) -> None:
        if id(group) not in there:
            own = [weight for module in group.modules for weight in module.parameters()]
            there[id(group)] = sum({id(weight): weight.nbytes for weight in (*own, *group.parameters)}.values())
            resident.change(there[id(group)])

    def offload(group: Any) -> None:
        resident.change(-there.pop(id(group), 0))

    monkeypatch.setattr(group_offloading.ModuleGroup, "onload_", onload)
    monkeypatch.setattr(group_offloading.ModuleGroup, "offload_", offload)
    yield


@pytest.mark.parametrize("name", ["stable-diffusion", "wan-2.1"])
def test_tiling_has_the_peak_of_a_real_run(name: str) -> None:
    _compare_switch(name, "enable_tiling")


def test_slicing_has_the_peak_of_a_real_run() -> None:
    _compare_switch("stable-diffusion-two-images", "enable_slicing")


def _compare_switch(name: str, switch: str) -> None:
    small = SMALL_PIPELINES[name]
    pipeline: Any = small.build()
    getattr(pipeline.vae, switch)()
    if switch == "enable_tiling":
        for attribute, value in vars(pipeline.vae).items():
            if attribute.startswith("tile_") and isinstance(value, int) and "num" not in attribute:
                setattr(pipeline.vae, attribute, max(1, value // 2))
    profile = diffprof.profile(pipeline, **small.arguments())
    methods = {"forward", "encode", "decode"} | {call.method for call in profile.calls}
    real = real_memory(pipeline, components_of(pipeline), methods, small.arguments())
    weights = sum(part.weight_bytes for part in profile.components.values())
    assert predicted_peak(profile) == pytest.approx(weights + max(point.peak_bytes for point in real), rel=TOLERANCE)


@pytest.mark.parametrize("name", PIPELINES)
def test_model_offload_has_the_peak_of_a_real_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small = SMALL_PIPELINES[name]
    pipeline: Any = small.build()
    profile = diffprof.profile(pipeline, **small.arguments())
    watch = StorageWatch()
    resident = Resident(watch)
    pipeline.enable_model_cpu_offload(device="cpu")
    with followed_model_offload(resident, monkeypatch), watch:
        pipeline(**small.arguments())
    assert predicted_peak(profile, offload="model") == pytest.approx(resident.peak, rel=TOLERANCE)


@pytest.mark.parametrize(("way", "level"), [("group", "block_level"), ("group-leaf", "leaf_level")])
@pytest.mark.parametrize("name", PIPELINES)
def test_group_offload_has_the_peak_of_a_real_run(
    name: str, way: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = SMALL_PIPELINES[name]
    pipeline: Any = small.build()
    profile = diffprof.profile(pipeline, **small.arguments())
    watch = StorageWatch()
    resident = Resident(watch)
    more = {"num_blocks_per_group": 1} if level == "block_level" else {}
    with followed_group_offload(resident, monkeypatch):
        pipeline.enable_group_offload(torch.device("cpu"), offload_type=level, **more)
        with watch:
            pipeline(**small.arguments())
    predicted = predicted_peak(profile, offload=way, use_stream=False)
    assert predicted == pytest.approx(resident.peak, rel=TOLERANCE)
