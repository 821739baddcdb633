"""Memory that is worked out once for many accelerators is what each of them has by itself."""

from __future__ import annotations

from diffprof.catalogue.accelerators import accelerators
from diffprof.counting.request_profile import count_request
from diffprof.prediction.allocator import OutOfDeviceMemory
from diffprof.prediction.device_memory import DeviceMemory, device_memory
from diffprof.prediction.memory_on_devices import MemoryOnDevices
from diffprof.prediction.memory_simulation import predict_memory
from diffprof.record.fit import StageMemory
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings
from tests.prediction.samples import stable_diffusion_profile

MIB = 1024**2


def by_itself(device: DeviceMemory) -> tuple[tuple[StageMemory, ...], bool]:
    try:
        return predict_memory(stable_diffusion_profile(), RunSettings(), device, device.capacity_bytes), True
    except OutOfDeviceMemory:
        return predict_memory(stable_diffusion_profile(), RunSettings(), device), False


def test_one_accelerator_of_each_architecture_has_what_it_has_by_itself() -> None:
    shared = MemoryOnDevices(stable_diffusion_profile(), RunSettings())
    for entry in {entry.architecture: entry for entry in accelerators()}.values():
        assert shared.on(device_memory(entry)) == by_itself(device_memory(entry)), entry.name


def test_a_device_that_is_nearly_full_is_followed_by_itself() -> None:
    shared = MemoryOnDevices(stable_diffusion_profile(), RunSettings())
    stages, _ = shared.on(DeviceMemory("ampere"))
    context = DeviceMemory("ampere").context_bytes
    allocated = max(stage.allocated_bytes for stage in stages)
    reserved = max(stage.reserved_bytes for stage in stages)
    answers = set()
    for size in range(allocated - 600 * MIB, reserved + 40 * MIB, 80 * MIB):
        device = DeviceMemory("ampere", memory_bytes=size + context)
        assert shared.on(device) == by_itself(device)
        answers.add(shared.fits(device))
    assert answers == {True, False}


def test_a_size_that_begins_like_another_one_has_what_it_has_by_itself() -> None:
    similar = None
    for sides in ((512, 512), (768, 512), (1024, 1024)):
        profile = count_request(Request.create("sd-2.1-base", {"height": sides[0], "width": sides[1]}), use_cache=False)
        assert profile.counted_by == "law"
        similar = MemoryOnDevices(profile, RunSettings(), similar)
        for device in (
            DeviceMemory("ampere"),
            DeviceMemory("hopper", memory_bytes=80 * 1024 * MIB),
            DeviceMemory("turing"),
        ):
            alone = MemoryOnDevices(profile, RunSettings())
            assert similar.on(device) == alone.on(device)
