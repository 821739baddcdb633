"""The memory of one call, from events that were written down by hand."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.prediction.allocator import MIB, OutOfDeviceMemory
from diffprof.prediction.call_memory import CallSimulation
from diffprof.prediction.device_memory import DeviceMemory
from diffprof.prediction.memory_simulation import MemorySimulation
from diffprof.record.allocations import ALLOCATE, OPERATION, RELEASE, AllocationEvent, Allocations
from diffprof.record.profile import Call, Component, Cost, Ledger, Module, ModuleWork, Operation, Profile, Steps, Work
from diffprof.record.recorded_request import RecordedRequest
from diffprof.record.run_settings import RunSettings
from diffprof.record.tensors import OperationShapes
from tests.sample_profiles import ENVIRONMENT

PATHS = ("blocks.0", "blocks.1")
WEIGHT = 4 * MIB
CONVOLUTION = Operation(
    "convolution", "convolution", OperationShapes(((1, 4, 512, 512), (4, 4, 3, 3)), ((1, 4, 512, 512),)), "float32", 1,
    Work(1),
)  # fmt: skip


def events(*found: tuple[str, int, int]) -> Allocations:
    return Allocations(tuple(AllocationEvent(*event) for event in found), tuple(range(len(found))))


def simulation(allocations: Allocations, capacity: int | None = None, **settings: Any) -> CallSimulation:
    """One call of a model with two blocks, whose weights are 4 MiB each."""
    cost = Cost(
        Work(), 0, (CONVOLUTION,), tuple(ModuleWork(path, "Linear", 1, Work()) for path in PATHS), (), allocations
    )  # fmt: skip
    modules = (Module("blocks", "ModuleList", 0), *[Module(path, "Linear", WEIGHT // 2) for path in PATHS])
    component = Component("unet", "Net", "denoiser", "float16", WEIGHT, 0, 2 * WEIGHT, 1, modules=modules)
    call = Call("unet", "forward", (), 0, cost)
    profile = Profile(
        RecordedRequest("model", "object", "Pipeline", {}), ENVIRONMENT, {"unet": component}, Steps(), (call,),
        Ledger(0, 0, 0, 0),
    )  # fmt: skip
    return CallSimulation(MemorySimulation(profile, RunSettings(**settings), DeviceMemory("ampere"), capacity), call)


def test_the_most_is_what_is_alive_at_one_time() -> None:
    call = simulation(events((ALLOCATE, 3 * MIB, 0), (ALLOCATE, 2 * MIB, 0), (RELEASE, 2, 0), (ALLOCATE, MIB, 0)))
    assert call.run().allocated == 5 * MIB
    assert call.allocator.allocated == 0  # what the call kept goes with it


def test_devices_that_share_a_sequence_have_a_part_of_each_tensor() -> None:
    assert simulation(events((ALLOCATE, 4 * MIB, 0)), devices=4).run().allocated == MIB


def test_a_block_is_on_the_device_while_it_runs() -> None:
    step = 2  # one place forward
    call = simulation(events((ALLOCATE, MIB, 0), (ALLOCATE, MIB, step)), offload="group", use_stream=False)
    assert call.run().allocated == WEIGHT + 2 * MIB
    assert call.around.resident == {"unet": 0}


def test_with_a_stream_the_next_block_is_there_too() -> None:
    call = simulation(events((ALLOCATE, MIB, 0)), offload="group", use_stream=True)
    assert call.run().allocated == 2 * WEIGHT + MIB


def test_weights_of_one_layer_are_unpacked_while_it_runs() -> None:
    packed = simulation(events((ALLOCATE, MIB, 0)), quantize={"unet": "bitsandbytes:nf4"})
    assert packed.run().allocated == MIB + WEIGHT  # the copy in 16 bits
    assert packed.peak.workspace == WEIGHT


def test_a_convolution_takes_copies_of_its_tensors_if_there_is_memory_for_them() -> None:
    used = events((ALLOCATE, MIB, 0), (OPERATION, 0, 0))
    copied = 4 * (4 * 512 * 512 + 4 * 4 * 9)
    assert simulation(used).run().allocated == pytest.approx(MIB + copied, abs=512)
    assert simulation(used, capacity=3 * MIB).run().allocated == MIB


def test_tensors_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(OutOfDeviceMemory):
        simulation(events((ALLOCATE, 30 * MIB, 0)), capacity=20 * MIB).run()


def test_a_product_in_8_bits_has_its_sums_and_its_first_result_beside_what_comes_out() -> None:
    plain = events((ALLOCATE, 6 * MIB, 0), (ALLOCATE, MIB, 2))
    assert simulation(plain).run().allocated == 7 * MIB
    quantized = simulation(plain, quantize={"unet": "bitsandbytes:int8"})
    assert quantized.run().allocated == 4 * 6 * MIB
    assert quantized.allocator.allocated == 0
