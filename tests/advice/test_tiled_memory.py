"""Memory with tiles, estimated from that without them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import diffprof
from diffprof.advice.fit import Outcome, outcome_of
from diffprof.advice.tiled_memory import estimate_with_tiles, is_video
from diffprof.catalogue.accelerators import find_accelerator
from diffprof.prediction.device_memory import device_memory
from diffprof.prediction.memory_on_devices import peak_of_stages
from diffprof.record.fit import HostMemory, StageMemory
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings
from tests.sample_profiles import stable_diffusion

GB = 10**9
HOST = HostMemory(5 * GB, 0, 0)


def with_live_bytes(live_bytes: int) -> Profile:
    """A generation whose autoencoder has so many bytes alive."""
    profile = stable_diffusion()
    calls = [
        replace(call, cost=replace(call.cost, peak_live_bytes=live_bytes)) if call.component == "vae" else call
        for call in profile.calls
    ]
    return replace(profile, calls=tuple(calls))


WHOLE, TILED = with_live_bytes(4000), with_live_bytes(1000)
DENOISE = StageMemory("denoise", "unet", "", 6 * GB, 7 * GB, 8 * GB)
DECODE = StageMemory("decode", "vae", "", 8 * GB, 10 * GB, 11 * GB, {"vae": 4 * GB}, 3 * GB, 0, GB)


def outcome(full_in: str | None = None, decode: StageMemory = DECODE) -> Outcome:
    stages = (DENOISE, decode)
    return Outcome(stages, peak_of_stages(stages), HOST, full_in is None, full_in)


def test_decoding_needs_as_much_less_as_fewer_tensors_are_alive() -> None:
    found = estimate_with_tiles(outcome(), WHOLE, TILED, 24 * GB, None)
    denoise, decode = found.stages
    assert denoise == DENOISE
    # A quarter of 3 GB of tensors and of 1 GB of workspace, and 4 GB of weights.
    assert (decode.activation_bytes, decode.workspace_bytes) == (750_000_000, 250_000_000)
    # Reserved by a quarter more than allocated, and a gigabyte of context, as before.
    assert (decode.allocated_bytes, decode.reserved_bytes, decode.device_bytes) == (5 * GB, 6.25 * GB, 7.25 * GB)
    assert (found.peak.stage, found.peak.allocated_bytes, found.peak.reserved_bytes) == ("denoise", 6 * GB, 7 * GB)
    assert found.fits and found.host == HOST


def test_memory_between_the_calls_is_the_same_with_tiles() -> None:
    between = replace(DECODE, component="pipeline of another name")
    assert estimate_with_tiles(outcome(decode=between), WHOLE, TILED, None, None).stages == (DENOISE, between)


@pytest.mark.parametrize(
    ("full_in", "capacity", "ram", "fits"),
    [
        (None, 24 * GB, None, True),
        ("decode", 6 * GB, None, True),
        ("decode", 6 * GB - 1, None, False),
        ("denoise", 24 * GB, None, False),
        (None, 24 * GB, 5 * GB - 1, False),
        (None, None, None, None),
    ],
)
def test_tiles_help_only_where_decoding_is_too_large(
    full_in: str | None, capacity: int | None, ram: int | None, fits: bool | None
) -> None:
    assert estimate_with_tiles(outcome(full_in), WHOLE, TILED, capacity, ram).fits is fits


def test_the_estimate_of_a_video_is_near_its_simulation() -> None:
    whole, tiled = (diffprof.profile("wan2.1-t2v-1.3b", enable=switch) for switch in ((), ("vae_tiling",)))
    assert is_video(whole) and not is_video(diffprof.profile("sdxl"))
    device, settings = device_memory(find_accelerator("h100-sxm")), RunSettings()
    exact, without = (outcome_of(profile, settings, device, None) for profile in (tiled, whole))
    estimate = estimate_with_tiles(without, whole, tiled, device.capacity_bytes, None)
    assert estimate.fits is exact.fits is True
    decoding, real, whole_decoding = (
        next(stage for stage in one.stages if stage.stage == "decode") for one in (estimate, exact, without)
    )
    assert decoding.allocated_bytes == pytest.approx(real.allocated_bytes, rel=0.05)
    assert decoding.activation_bytes < 0.5 * whole_decoding.activation_bytes
