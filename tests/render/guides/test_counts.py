"""The counts of a profile under the keys of the guides."""

from __future__ import annotations

from diffprof.render.guides.counts import decoding_macs, guide_counts, text_encoding_macs
from tests.sample_profiles import TEXT_ENCODER_MACS, UNET_MACS, VAE_MACS, nothing, stable_diffusion


def test_the_keys_have_the_exact_counts() -> None:
    profile = stable_diffusion()
    counts = guide_counts(profile)
    assert counts["total_macs"] == profile.total.macs
    assert counts["total_flops"] == 2 * counts["total_macs"]
    assert (counts["macs_per_step"], counts["flops_per_step"]) == (UNET_MACS, 2 * UNET_MACS)
    assert (counts["unet_macs_per_step"], counts["vae_macs"]) == (UNET_MACS, VAE_MACS)
    assert counts["text_encoder_macs"] == 2 * TEXT_ENCODER_MACS
    assert counts["denoiser_macs"] == 31 * UNET_MACS
    assert (counts["model_component"], counts["num_executed_steps"]) == ("unet", 31)
    assert counts["macs_per_step_str"] == "804.26 GMACs"


def test_the_latent_is_what_the_vae_decodes() -> None:
    assert guide_counts(stable_diffusion())["latent_shape"] == (1, 4, 64, 64)


def test_a_profile_of_nothing_has_zeros_and_no_latent() -> None:
    counts = guide_counts(nothing())
    assert (counts["total_macs"], counts["macs_per_step"], counts["model_component"]) == (0, 0, "")
    assert counts["latent_shape"] is None
    assert decoding_macs(nothing()) == text_encoding_macs(nothing()) == 0
