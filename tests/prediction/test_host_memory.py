"""The host's memory, from the bytes of the weights."""

from __future__ import annotations

from typing import Any

from diffprof.prediction.host_memory import PROCESS_BYTES, SHARD_BYTES, predict_host_memory
from diffprof.record.fit import HostMemory
from diffprof.record.run_settings import RunSettings
from tests.sample_profiles import stable_diffusion

PROFILE = stable_diffusion(unet_calls=1)
WEIGHTS = PROFILE.total.weight_bytes


def host(**settings: Any) -> HostMemory:
    return predict_host_memory(PROFILE, RunSettings(**settings))


def test_all_weights_pass_through_the_host_and_leave_it() -> None:
    assert host() == HostMemory(PROCESS_BYTES + WEIGHTS, 0, PROCESS_BYTES + WEIGHTS)


def test_what_is_not_loaded_takes_nothing() -> None:
    without = WEIGHTS - PROFILE.components["text_encoder"].weight_bytes
    assert host(without=("text_encoder",)).load_bytes == PROCESS_BYTES + without


def test_weights_that_are_packed_on_the_device_come_file_by_file() -> None:
    unet = PROFILE.components["unet"].weight_bytes
    packed = host(quantize={"unet": "bitsandbytes:nf4"})
    assert packed.load_bytes == PROCESS_BYTES + WEIGHTS - unet + min(unet, SHARD_BYTES)


def test_pinned_memory_comes_in_powers_of_two() -> None:
    streamed = host(offload="group")
    assert WEIGHTS < streamed.pinned_bytes <= 2 * WEIGHTS
    assert streamed.peak_bytes >= PROCESS_BYTES + streamed.pinned_bytes
    assert host(offload="group", use_stream=False).pinned_bytes == 0
