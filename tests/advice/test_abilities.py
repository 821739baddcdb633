"""What diffusers can do with a denoiser: held against diffusers itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

import diffprof
from diffprof import catalogue
from diffprof.advice.abilities import (
    CACHED_CLASSES,
    OWN_SCHEDULER,
    SHARED_CLASSES,
    WHOLE_CLASSES,
    can_cache,
    can_share,
    can_swap_scheduler,
    can_tile,
    classes_without_plan,
)
from diffprof.advice.alternatives import SOLVER, SOLVER_STEPS
from diffprof.errors import PipelineError, RequestError
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


def test_autoencoders_that_cannot_tile_are_those_that_diffusers_has_no_tiles_for() -> None:
    import inspect

    import diffusers
    from diffusers.pipelines.deprecated.wuerstchen.modeling_paella_vq_model import PaellaVQModel

    used = {
        part.class_name for entry in catalogue.entries() for part in entry.components.values()
        if part.class_name.startswith(("Autoencoder", "Asymmetric", "Paella", "VQ"))
    }  # fmt: skip
    classes = {name: PaellaVQModel if name == "PaellaVQModel" else getattr(diffusers, name) for name in used}
    without = {name for name, kind in classes.items() if "use_tiling" not in inspect.getsource(kind)}
    # The decoder of sound beside a decoder of videos, which has tiles.
    assert without - {"AutoencoderKLLTX2Audio"} == WHOLE_CLASSES & used


def test_tiles_are_no_option_without_an_autoencoder_that_has_them() -> None:
    profile = stable_diffusion()
    movq = replace(profile.components["vae"], class_name="VQModel")
    assert can_tile(profile)
    assert not can_tile(replace(profile, components={**profile.components, "vae": movq}))


def test_pipelines_with_a_scheduler_of_their_own_fail_with_the_solver() -> None:
    assert can_swap_scheduler(stable_diffusion())
    models = {entry.pipeline: entry.name for entry in catalogue.entries() if entry.pipeline in OWN_SCHEDULER}
    assert set(models) == OWN_SCHEDULER
    for name in models.values():
        assert not can_swap_scheduler(diffprof.profile(name))
        with pytest.raises(PipelineError, match="in its own code"):
            diffprof.profile(name, num_inference_steps=SOLVER_STEPS, scheduler=SOLVER)
