"""What diffusers can do with a denoiser: held against diffusers itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

import diffprof
from diffprof.advice.abilities import CACHED_CLASSES, SHARED_CLASSES, can_cache, can_share, classes_without_plan
from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from tests.sample_profiles import stable_diffusion


def with_denoiser(class_name: str) -> Profile:
    profile = stable_diffusion()
    unet = replace(profile.components["unet"], class_name=class_name)
    return replace(profile, components={**profile.components, "unet": unet})


def test_classes_are_those_that_diffusers_can_cache_and_share() -> None:
    import diffusers
    from diffusers.models.cache_utils import CacheMixin

    assert all(issubclass(getattr(diffusers, name), CacheMixin) for name in CACHED_CLASSES)
    assert all(getattr(diffusers, name)._cp_plan is not None for name in SHARED_CLASSES)


@pytest.mark.parametrize(
    ("class_name", "is_cached", "is_shared"),
    [
        ("FluxTransformer2DModel", True, True),
        ("HunyuanVideoTransformer3DModel", True, False),
        ("SD3Transformer2DModel", False, False),
        ("UNet2DConditionModel", False, False),
    ],
)
def test_a_class_can_what_it_is_listed_for(class_name: str, is_cached: bool, is_shared: bool) -> None:
    profile = with_denoiser(class_name)
    assert (can_cache(profile), can_share(profile)) == (is_cached, is_shared)
    assert classes_without_plan(profile) == ([] if is_shared else [class_name])


@pytest.mark.parametrize("ask", [diffprof.fit, diffprof.predict])
def test_several_devices_are_refused_for_a_unet(ask: object) -> None:
    profile = diffprof.profile("sd-1.5")
    with pytest.raises(RequestError, match="unet cannot be split across devices"):
        ask(profile, gpu="t4", devices=2)  # type: ignore[operator]
