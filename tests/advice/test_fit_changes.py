"""Changes that make a generation fit."""

from __future__ import annotations

from typing import Any

from diffprof.advice.fit_changes import (
    NeededMemory,
    Step,
    changes_that_fit,
    offload_steps,
    packed_denoisers,
    packed_encoders,
    settings_after,
    usual_slowdown,
)
from diffprof.advice.outcome import Outcome
from diffprof.advice.sources import source_of_profile
from diffprof.record.fit import HostMemory, MemoryPeak, StageMemory
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings
from tests.sample_profiles import stable_diffusion

PROFILE = stable_diffusion(unet_calls=1)
SIZES = {slot: part.weight_bytes for slot, part in PROFILE.components.items()}
OUTCOME = Outcome((), MemoryPeak(1, 2, 3, "decode", "vae", ""), HostMemory(0, 0, 0), True)


def stage(name: str, component: str, activations: int = 0) -> StageMemory:
    return StageMemory(name, component, "", 0, 0, 0, SIZES, activations)


def can_fit(capacity: int | None, *steps: Step, **settings: Any) -> bool:
    stages = (stage("denoise", "unet", 1000), stage("decode", "vae", 10**9))
    return NeededMemory(stages, capacity).can_fit(PROFILE, steps, RunSettings(**settings))


def test_weights_and_tensors_that_must_be_there_speak_against_it() -> None:
    needed = sum(SIZES.values()) + 10**9
    assert can_fit(needed) and not can_fit(needed - 1)
    assert can_fit(None)


def test_with_model_offload_one_component_is_there_at_a_time() -> None:
    needed = max(SIZES["unet"] + 1000, SIZES["vae"] + 10**9)
    assert can_fit(needed, offload="model") and not can_fit(needed - 1, offload="model")
    assert can_fit(1, offload="group")  # that has to be followed


def test_tiling_takes_the_tensors_of_the_decoder_away() -> None:
    tiling = Step("vae_tiling", enable=("vae_tiling",))
    needed = sum(SIZES.values()) + 1000
    assert can_fit(needed, tiling) and not can_fit(needed)


def test_steps_add_up() -> None:
    both = (Step("a", 1.5, {"quantize": {"unet": "torchao:int8"}}), Step("b", 2.0, {"offload": "model"}))
    settings = settings_after(RunSettings(quantize={"vae": "quanto:int8"}), both)
    assert settings == RunSettings(offload="model", quantize={"vae": "quanto:int8", "unet": "torchao:int8"})
    assert usual_slowdown(both) == 3.0


def test_what_is_packed_already_is_not_packed_again() -> None:
    names = [step.name for step in packed_denoisers(PROFILE, RunSettings())]
    assert names == ["layerwise fp8", "quantize unet=int8", "quantize unet=nf4"]
    assert not list(packed_denoisers(PROFILE, RunSettings(quantize={"unet": "torchao:int8"})))
    assert not list(packed_encoders(PROFILE, RunSettings(drop_text_encoders=True)))
    assert [step.name for step in packed_encoders(PROFILE, RunSettings())] == [
        "drop text encoders", "quantize text_encoder=int8", "quantize text_encoder=nf4",
    ]  # fmt: skip


def test_ways_to_offload_are_tried_from_the_quickest() -> None:
    slowdowns = [step.slowdown for step in offload_steps()]
    assert slowdowns == sorted(slowdowns)


def test_other_offload_is_not_tried_if_group_offload_of_layers_is_enough() -> None:
    def attempt(profile: Profile, settings: RunSettings) -> Outcome | None:
        return OUTCOME if settings.offload in grouped else None

    def names() -> list[str]:
        needed = NeededMemory((), None)
        found = changes_that_fit(source_of_profile(PROFILE), RunSettings(), None, attempt, needed)
        return [change.name for change in found]

    grouped: tuple[str, ...] = ("group-leaf", "group", "sequential")
    assert names() == ["offload group-leaf"]
    grouped = ("group", "sequential")
    assert names() == ["offload group", "offload sequential"]


def test_the_quickest_change_comes_first_and_none_that_does_more_than_is_needed() -> None:
    def attempt(profile: Profile, settings: RunSettings) -> Outcome | None:
        fits = settings.offload == "model" or "unet" in settings.layerwise
        return OUTCOME if fits else None

    changes = changes_that_fit(
        source_of_profile(PROFILE), RunSettings(), None, attempt, NeededMemory((), None), ("--gpu", "t4")
    )
    assert [change.name for change in changes] == ["layerwise fp8", "offload model"]
    assert changes[1].command.endswith("--offload model --gpu t4")
    assert "pipe.enable_model_cpu_offload()" in changes[1].code
