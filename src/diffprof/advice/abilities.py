"""Features of diffusers that a model supports, by its classes: caches, context parallelism, tiles, other schedulers."""

from __future__ import annotations

from diffprof.errors import RequestError
from diffprof.record.profile import Component, Profile
from diffprof.record.run_settings import RunSettings

CACHED_CLASSES = frozenset({
    "BriaTransformer2DModel", "CogVideoXTransformer3DModel", "CogView4Transformer2DModel", "Flux2Transformer2DModel",
    "FluxTransformer2DModel", "HunyuanImageTransformer2DModel", "HunyuanVideoTransformer3DModel",
    "Kandinsky5Transformer3DModel", "LTXVideoTransformer3DModel", "MochiTransformer3DModel",
    "QwenImageTransformer2DModel", "WanTransformer3DModel",
})  # fmt: skip
"""Classes with `enable_cache` whose blocks the first-block cache supports."""

SHARED_CLASSES = frozenset({
    "ChronoEditTransformer3DModel", "Flux2Transformer2DModel", "FluxTransformer2DModel", "HeliosTransformer3DModel",
    "LTX2VideoTransformer3DModel", "LTXVideoTransformer3DModel", "MiniMaxH3Transformer3DModel",
    "QwenImageTransformer2DModel", "WanTransformer3DModel",
})  # fmt: skip
"""Classes that define how their sequence is split over devices."""

WHOLE_CLASSES = frozenset({
    "AsymmetricAutoencoderKL", "AutoencoderKLTemporalDecoder", "AutoencoderRAE", "PaellaVQModel", "VQModel",
})  # fmt: skip
"""Autoencoders that cannot work in tiles."""

OWN_SCHEDULER = frozenset({"HiDreamImagePipeline", "StableVideoDiffusionPipeline"})
"""Pipelines that fail with the multistep solver: they prepare steps in a way that only their own scheduler knows."""


def can_cache(profile: Profile) -> bool:
    """Whether every denoiser supports diffusers' caches."""
    return _are_all(profile, CACHED_CLASSES)


def can_share(profile: Profile) -> bool:
    """Whether diffusers can split the sequence of every denoiser without a plan by the user."""
    return _are_all(profile, SHARED_CLASSES)


def can_tile(profile: Profile) -> bool:
    """Whether an autoencoder of the pipeline may work in tiles."""
    decoders = [part for part in profile.components.values() if part.role == "vae"]
    return any(part.class_name not in WHOLE_CLASSES for part in decoders)


def can_swap_scheduler(profile: Profile) -> bool:
    """Whether the pipeline works with another solver."""
    return profile.request.pipeline not in OWN_SCHEDULER


def classes_without_plan(profile: Profile) -> list[str]:
    """Classes of denoisers that need a plan by the user to be split."""
    return sorted({part.class_name for part in _denoisers(profile)} - SHARED_CLASSES)


def check_sharing(profile: Profile, settings: RunSettings) -> None:
    """Refuse several devices for a denoiser that has no sequence to split."""
    whole = [slot for slot, part in profile.components.items() if part.role == DENOISER and not _is_transformer(part)]
    if settings.devices > 1 and whole:
        raise RequestError(
            f"{' and '.join(whole)} cannot be split across devices: only the sequence of a transformer can be; "
            "leave out the number of devices."
        )


DENOISER = "denoiser"


def _denoisers(profile: Profile) -> list[Component]:
    return [part for part in profile.components.values() if part.role == DENOISER]


def _are_all(profile: Profile, classes: frozenset[str]) -> bool:
    found = {part.class_name for part in _denoisers(profile)}
    return bool(found) and found <= classes


def _is_transformer(part: Component) -> bool:
    return "UNet" not in part.class_name
