"""Estimates from one simulation, against simulations of what they are about."""

from __future__ import annotations

from dataclasses import replace

import pytest

import diffprof
from diffprof.advice.estimated_memory import SimilarMemory
from diffprof.advice.outcome import Outcome, outcome_of
from diffprof.catalogue.accelerators import find_accelerator
from diffprof.prediction.device_memory import device_memory
from diffprof.record.fit import StageMemory
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings
from tests.sample_profiles import stable_diffusion

CARD = device_memory(find_accelerator("h100-sxm"))
GB = 10**9


def similar_to(profile: Profile) -> SimilarMemory:
    return SimilarMemory(profile, outcome_of(profile, RunSettings(), CARD, None).stages, CARD)


@pytest.fixture(scope="module")
def flux() -> Profile:
    return diffprof.profile("flux.1-dev", height=1536)


@pytest.mark.parametrize(
    "settings",
    [
        RunSettings(),
        RunSettings(offload="model"),
        RunSettings(offload="group-leaf"),
        RunSettings(offload="sequential"),
        RunSettings(drop_text_encoders=True),
        RunSettings(quantize={"transformer": "bitsandbytes:nf4"}),
        RunSettings(quantize={"transformer": "bitsandbytes:nf4", "text_encoder_2": "bitsandbytes:nf4"}),
        RunSettings(layerwise={"transformer": "float8_e4m3fn"}, offload="model"),
    ],
    ids=lambda one: str(one.key),
)
def test_tensors_and_weights_are_nearly_those_of_a_simulation(flux: Profile, settings: RunSettings) -> None:
    found, exact = similar_to(flux).estimate(flux, settings), outcome_of(flux, settings, CARD, None)
    assert found.peak.allocated_bytes == pytest.approx(exact.peak.allocated_bytes, rel=0.05)
    assert found.peak.device_bytes == pytest.approx(exact.peak.device_bytes, rel=0.25)
    assert (found.host, found.fits) == (exact.host, exact.fits)


@pytest.mark.parametrize("offload", ["none", "model", "group-leaf"])
def test_a_video_in_tiles_is_estimated_from_that_without(offload: str) -> None:
    whole, tiled = (diffprof.profile("wan2.1-t2v-1.3b", enable=enable) for enable in ((), ("vae_tiling",)))
    settings = RunSettings(offload=offload)
    found, exact = similar_to(whole).estimate(tiled, settings), outcome_of(tiled, settings, CARD, None)
    assert found.peak.allocated_bytes == pytest.approx(exact.peak.allocated_bytes, rel=0.1)


DENOISE = StageMemory("denoise", "unet", "", 6 * GB, 7 * GB, 8 * GB, {}, 3 * GB, 0, GB)
DECODE = StageMemory("decode", "vae", "", 8 * GB, 10 * GB, 11 * GB, {}, 3 * GB, 0, GB)


def with_live_bytes(live_bytes: int) -> Profile:
    """A generation whose autoencoder has so many bytes alive, and whose other components have a few."""
    profile = stable_diffusion()
    calls = [
        replace(call, cost=replace(call.cost, peak_live_bytes=live_bytes if call.component == "vae" else 10))
        for call in profile.calls
    ]
    return replace(profile, calls=tuple(calls))


def estimate(live_bytes: int, ram_bytes: int | None = None) -> Outcome:
    known = SimilarMemory(with_live_bytes(4000), (DENOISE, DECODE), CARD)
    return known.estimate(with_live_bytes(live_bytes), RunSettings(), ram_bytes)


def test_a_stage_needs_as_much_less_as_fewer_bytes_are_alive() -> None:
    weights = sum(part.weight_bytes for part in stable_diffusion().components.values())
    denoise, decode = estimate(1000).stages
    assert (denoise.activation_bytes, decode.activation_bytes) == (4 * GB, GB)  # of 3 GB and a workspace of 1
    assert (denoise.allocated_bytes, decode.allocated_bytes) == (weights + 4 * GB, weights + GB)
    # Decoding had cached 2 GB beside 4 GB.
    assert decode.reserved_bytes == decode.allocated_bytes + GB // 2
    assert decode.device_bytes == decode.reserved_bytes + CARD.context_bytes


def test_what_has_too_little_memory_or_ram_does_not_fit() -> None:
    assert estimate(4000).fits is True
    assert estimate(4000 * 40).fits is False
    assert estimate(4000, ram_bytes=1).fits is False
