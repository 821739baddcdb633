"""Stable Diffusion 3: three text encoders and a multimodal diffusion transformer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import flow_image_autoencoder
from .image_inputs import image_run, inpaint_run
from .inputs import short_run
from .small_pipeline import Components, SmallPipeline
from .text_encoders import TEXT_WIDTH, clip_text_encoder_with_projection, t5_encoder
from .text_tokenizers import clip_tokenizer, t5_tokenizer

if TYPE_CHECKING:
    from diffusers import ModelMixin


def stable_diffusion_3_components(**changes: Any) -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler

    return {
        "transformer": _transformer(),
        "scheduler": FlowMatchEulerDiscreteScheduler(),
        "vae": flow_image_autoencoder(latent_channels=LATENT_CHANNELS),
        "text_encoder": clip_text_encoder_with_projection(),
        "tokenizer": clip_tokenizer(),
        "text_encoder_2": clip_text_encoder_with_projection(),
        "tokenizer_2": clip_tokenizer(),
        "text_encoder_3": t5_encoder(),
        "tokenizer_3": t5_tokenizer(),
        **changes,
    }


LATENT_CHANNELS = 16

TRANSFORMER_SIZES: dict[str, Any] = {
    "sample_size": 16,
    "patch_size": 2,
    "in_channels": LATENT_CHANNELS,
    "out_channels": LATENT_CHANNELS,
    "attention_head_dim": 8,
    "num_attention_heads": 4,
    "joint_attention_dim": TEXT_WIDTH,
    "caption_projection_dim": 32,
    "pooled_projection_dim": 2 * TEXT_WIDTH,
}


def _transformer(**changes: Any) -> ModelMixin:
    from diffusers import SD3Transformer2DModel

    blocks = {"num_layers": 2, "dual_attention_layers": (0,), "qk_norm": "rms_norm"}
    return SD3Transformer2DModel(**{**TRANSFORMER_SIZES, **blocks, **changes})


def _perturbed_components() -> Components:
    """Attention can be perturbed only in blocks without a second attention."""
    return stable_diffusion_3_components(
        transformer=_transformer(dual_attention_layers=()),
        pag_applied_layers=["blocks.0"],
    )


PIPELINES = (
    SmallPipeline(
        "stable-diffusion-3",
        "mmdit",
        "StableDiffusion3Pipeline",
        stable_diffusion_3_components,
        lambda: short_run(height=32, width=32),
    ),
    SmallPipeline(
        "stable-diffusion-3-skip-layer-guidance",
        "mmdit",
        "StableDiffusion3Pipeline",
        stable_diffusion_3_components,
        lambda: short_run(height=32, width=32, skip_guidance_layers=[1]),
    ),
    SmallPipeline(
        "stable-diffusion-3-without-t5",
        "mmdit",
        "StableDiffusion3Pipeline",
        lambda: stable_diffusion_3_components(text_encoder_3=None, tokenizer_3=None),
        lambda: short_run(height=32, width=32),
    ),
    SmallPipeline(
        "stable-diffusion-3-img2img",
        "img2img",
        "StableDiffusion3Img2ImgPipeline",
        stable_diffusion_3_components,
        lambda: image_run(height=32, width=32),
    ),
    SmallPipeline(
        "stable-diffusion-3-inpaint",
        "inpaint",
        "StableDiffusion3InpaintPipeline",
        stable_diffusion_3_components,
        inpaint_run,
    ),
    SmallPipeline(
        "stable-diffusion-3-perturbed-attention",
        "mmdit",
        "StableDiffusion3PAGPipeline",
        _perturbed_components,
        lambda: short_run(height=32, width=32, pag_scale=3.0),
    ),
)
