"""The counts of a profile under the keys of the original guides."""

from __future__ import annotations

from typing import Any

from diffprof.record.profile import Profile
from diffprof.render import numbers


def guide_counts(profile: Profile) -> dict[str, Any]:
    """The counts under the keys that the guides show."""
    stage = profile.steps.main
    denoisers = stage.denoisers if stage else ()
    parts = [profile.components[slot] for slot in denoisers]
    parameters = sum(part.parameters for part in parts)
    total, step = profile.total, profile.steps.macs
    return {
        "enabled": True,
        "model_component": ", ".join(denoisers),
        "total_macs": total.macs,
        "total_flops": total.flops,
        "macs_per_step": step,
        "flops_per_step": 2 * step,
        "total_params": parameters,
        "total_macs_str": numbers.macs(total.macs),
        "total_flops_str": numbers.flops(total.flops),
        "macs_per_step_str": numbers.macs(step),
        "flops_per_step_str": numbers.flops(2 * step),
        "params_str": numbers.parameters(parameters),
        "unet_macs_per_step": step,
        "vae_macs": decoding_macs(profile),
        "text_encoder_macs": text_encoding_macs(profile),
        "denoiser_macs": sum(part.macs for part in parts),
        "num_executed_steps": profile.steps.count,
        "pipeline_params": total.parameters,
        "latent_shape": _latent_shape(profile),
    }


def decoding_macs(profile: Profile) -> int:
    return sum(call.macs for call in _decode_calls(profile))


def _decode_calls(profile: Profile) -> list[Any]:
    vaes = {slot for slot, part in profile.components.items() if part.role == "vae"}
    return [call for call in profile.calls if call.component in vaes and "encode" not in call.method]


def text_encoding_macs(profile: Profile) -> int:
    return sum(part.macs for part in profile.components.values() if part.role == "text_encoder")


def _latent_shape(profile: Profile) -> tuple[int, ...] | None:
    """The shape of the VAE's decoder input, else of the denoiser's input: (1, 4, 64, 64)."""
    stage = profile.steps.main
    denoising = [call for call in profile.calls if stage and call.component in stage.denoisers]
    for call in (*_decode_calls(profile), *denoising):
        if call.inputs and call.inputs[0].shapes[-1]:
            return tuple(call.inputs[0].shapes[-1])
    return None
