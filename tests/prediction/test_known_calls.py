"""Calls that are remembered instead of followed: nothing is different, and less is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from diffprof.counting.request_profile import count_request
from diffprof.prediction import known_calls
from diffprof.prediction.allocator import OutOfDeviceMemory
from diffprof.prediction.call_memory import CallPeak, CallSimulation
from diffprof.prediction.device_memory import DeviceMemory
from diffprof.prediction.known_calls import KnownCalls
from diffprof.prediction.memory_simulation import MemorySimulation, simulate_memory
from diffprof.record.fit import StageMemory
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings

GIB = 1024**3
DEVICES = (DeviceMemory("ampere"), DeviceMemory("hopper"), DeviceMemory("turing"), DeviceMemory("cdna3", "AMD"))


class Nothing(KnownCalls):
    """Remembers nothing."""

    def follow(self, simulation: CallSimulation) -> CallPeak:
        return simulation.run()


def profile_of(model: str, **arguments: int) -> Profile:
    profile = count_request(Request.create(model, arguments), use_cache=False)
    assert profile.counted_by == "law"
    return profile


def outcome(simulation: MemorySimulation) -> object:
    allocator = simulation.allocator
    return simulation.result(), simulation.most_reserved, allocator.most_requested, allocator.free_blocks()


def profiles() -> Iterator[Profile]:
    yield profile_of("sd-2.1-base", height=512, width=512)
    yield profile_of("sd-2.1-base", height=512, width=512, num_inference_steps=20)
    yield profile_of("sd-2.1-base", height=768, width=512)
    yield profile_of("dit-xl-2-256")


@pytest.mark.parametrize(
    "settings", [RunSettings(), RunSettings(offload="model"), RunSettings(drop_text_encoders=True)]
)
def test_what_is_remembered_changes_no_figure_and_leaves_the_same_memory_free(settings: RunSettings) -> None:
    known = KnownCalls()
    for profile in profiles():
        known = KnownCalls(known, [call.cost for call, _ in profile.costs()])
        for device in DEVICES:
            followed = simulate_memory(profile, settings, device, known=Nothing())
            assert outcome(simulate_memory(profile, settings, device, known=known)) == outcome(followed)


def test_a_device_without_room_for_what_is_remembered_follows_the_call() -> None:
    profile, known = profile_of("sd-2.1-base"), KnownCalls()
    most = simulate_memory(profile, RunSettings(), DeviceMemory("ampere"), known=known).most_reserved
    outcomes = set()
    for capacity in range(most - GIB, most + GIB // 4, GIB // 8):
        found = stages_within(profile, capacity, known)
        assert found == stages_within(profile, capacity, Nothing())
        outcomes.add(found is not None)
    assert outcomes == {True, False}


def test_what_a_full_device_did_is_not_taken_for_what_others_do() -> None:
    profile, known = profile_of("sd-2.1-base"), KnownCalls()
    most = simulate_memory(profile, RunSettings(), DeviceMemory("ampere"), known=Nothing()).most_reserved
    for capacity in range(most - GIB // 2, most + GIB // 4, GIB // 8):
        assert stages_within(profile, capacity, known) == stages_within(profile, capacity, Nothing())
    assert known._effects


def test_groups_of_weights_in_another_form_are_as_if_they_were_alone() -> None:
    profile, device, known = profile_of("dit-xl-2-256"), DEVICES[0], KnownCalls()
    for packing in ({}, {"layerwise": {"transformer": "float8_e4m3fn"}}, {"quantize": {"transformer": "torchao:int8"}}):
        for offload in ("group-leaf", "group", "sequential"):
            settings = RunSettings(offload=offload, **packing)  # type: ignore[arg-type]
            alone = simulate_memory(profile, settings, device, known=Nothing())
            assert outcome(simulate_memory(profile, settings, device, known=known)) == outcome(alone)


def stages_within(profile: Profile, capacity: int, known: KnownCalls) -> tuple[StageMemory, ...] | None:
    try:
        return simulate_memory(profile, RunSettings(), DeviceMemory("ampere"), capacity, known).result()
    except OutOfDeviceMemory:
        return None


def test_a_call_that_finds_the_same_memory_free_is_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    followed: list[str] = []

    def record(simulation: CallSimulation) -> object:
        followed.append(simulation.call.component)
        return follow(simulation)

    follow = known_calls._record
    monkeypatch.setattr(known_calls, "_record", record)
    known = KnownCalls()
    for steps in (20, 30):
        profile = profile_of("sd-2.1-base", num_inference_steps=steps)
        simulate_memory(profile, RunSettings(), DeviceMemory("ampere"), known=known)
    # After ten steps more, latents lie elsewhere when they are decoded.
    assert followed == ["text_encoder", "unet", "vae", "vae"]


def test_costs_of_another_generation_are_forgotten() -> None:
    known = KnownCalls()
    profile = profile_of("sd-2.1-base")
    simulate_memory(profile, RunSettings(), DeviceMemory("ampere"), known=known)
    text_encoder = next(call.cost for call, _ in profile.costs() if call.component == "text_encoder")
    assert len(KnownCalls(known, [text_encoder])._costs) == 1
    assert not KnownCalls(known, [replace(text_encoder)])._effects
