"""A cast of weights to float32 and back, written down by hand, and that of Stable Diffusion XL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.counting.profile import profile_model
from diffprof.prediction.cast_weights import kept_on_device, own_code, with_cast
from diffprof.prediction.device_memory import DeviceMemory
from diffprof.prediction.host_memory import predict_host_memory
from diffprof.prediction.memory_simulation import predict_memory
from diffprof.prediction.timeline import pipeline_call
from diffprof.record.allocations import ALLOCATE, CALL, RELEASE, AllocationEvent, Allocations, compress
from diffprof.record.profile import Component, Profile
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings

GIB = 1024**3
VAE = Component("vae", "AutoencoderKL", "vae", "float32", 6, 0, 12, calls=1, weight_bytes_by_dtype={"float16": 12})

LATENTS = ((ALLOCATE, 100),)
UP = ((ALLOCATE, 8), (ALLOCATE, 16))
DECODE = ((CALL, 0), (ALLOCATE, 300), (RELEASE, 4))
BACK = ((ALLOCATE, 4), (RELEASE, 4), (ALLOCATE, 8), (RELEASE, 4))


def allocations(*parts: tuple[tuple[str, int], ...]) -> Allocations:
    events = [AllocationEvent(kind, value) for part in parts for kind, value in part]
    known = list(dict.fromkeys(events))
    return compress(known, [known.index(event) for event in events])


def plain(found: Allocations) -> list[tuple[str, int]]:
    return [(found.events[number].kind, found.events[number].value) for number in found.expand()]


ZEROS_BACK = ((ALLOCATE, 0), (RELEASE, 4), (ALLOCATE, 0), (RELEASE, 4))


def test_weights_that_stay_on_the_device_grow_by_half_of_their_copies() -> None:
    found = with_cast(allocations(LATENTS, UP, DECODE, BACK), VAE, is_resident=True)
    assert plain(found) == [*LATENTS, (ALLOCATE, 4), (ALLOCATE, 8), *DECODE, *ZEROS_BACK]


def test_weights_that_are_elsewhere_are_cast_there() -> None:
    found = with_cast(allocations(LATENTS, UP, DECODE, BACK), VAE, is_resident=False)
    assert plain(found) == [*LATENTS, (ALLOCATE, 0), (ALLOCATE, 0), *DECODE, *ZEROS_BACK]


def test_weights_may_be_cast_twice() -> None:
    found = with_cast(allocations(UP, DECODE, BACK, UP, DECODE), VAE, is_resident=True)
    assert [value for kind, value in plain(found) if kind == ALLOCATE] == [4, 8, 300, 0, 0, 4, 8, 300]


def test_other_allocations_are_left_alone() -> None:
    others = allocations(LATENTS, ((ALLOCATE, 8), (ALLOCATE, 15)), DECODE)
    assert with_cast(others, VAE, is_resident=True) is others


@pytest.fixture(scope="module")
def four_images() -> Profile:
    arguments = {"num_inference_steps": 2, "num_images_per_prompt": 4}
    return profile_model(Request.create("sdxl", arguments, dtype="float16"))


def test_stable_diffusion_xl_in_float16_has_its_published_peak(four_images: Profile) -> None:
    stages = predict_memory(four_images, RunSettings(), DeviceMemory("ampere"))
    assert max(stage.allocated_bytes for stage in stages) / GIB == pytest.approx(21.72, rel=0.001)


def test_the_autoencoder_is_brought_in_float32(four_images: Profile) -> None:
    stages = predict_memory(four_images, RunSettings(offload="model"), DeviceMemory("ampere"))
    decode = next(stage for stage in stages if stage.stage == "decode")
    assert decode.weights == {"vae": 2 * four_images.components["vae"].weight_bytes}
    assert own_code(four_images, is_resident=False).cast == ("vae",)


@pytest.mark.parametrize("way", ["group", "group-leaf"])
def test_from_a_stream_weights_come_as_they_were_so_that_the_autoencoder_stays_on_the_device(
    four_images: Profile, way: str
) -> None:
    streamed, plain = RunSettings(offload=way), RunSettings(offload=way, use_stream=False)
    assert (kept_on_device(four_images, streamed), kept_on_device(four_images, plain)) == (("vae",), ())
    held = [
        {stage.stage: stage.weights.get("vae", 0) for stage in predict_memory(four_images, one, DeviceMemory("ampere"))}
        for one in (streamed, plain)
    ]
    weights = four_images.components["vae"].weight_bytes
    assert held[0]["encode"] == held[0]["decode"] == weights
    assert held[1]["encode"] == 0 and held[1]["decode"] < weights
    pinned = [predict_host_memory(four_images, one).pinned_bytes for one in (streamed, RunSettings(offload="model"))]
    others = sum(part.weight_bytes for slot, part in four_images.components.items() if slot != "vae")
    assert others <= pinned[0] < 2 * others and pinned[1] == 0


def test_nothing_is_cast_where_all_is_in_one_dtype(four_images: Profile) -> None:
    vae = replace(four_images.components["vae"], dtype="float16")
    same = replace(four_images, components={**four_images.components, "vae": vae})
    found = own_code(same, is_resident=True)
    assert found.cost is pipeline_call(same).cost
    assert not found.cast
