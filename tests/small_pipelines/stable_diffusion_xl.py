"""Stable Diffusion XL: two text encoders and a UNet told the image size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import image_autoencoder
from .image_inputs import image_run, inpaint_run
from .inputs import seeded_image, short_run
from .small_pipeline import Components, SmallPipeline
from .stable_diffusion import BETAS, stable_diffusion_unet
from .text_encoders import TEXT_WIDTH, clip_text_encoder, clip_text_encoder_with_projection
from .text_tokenizers import clip_tokenizer

if TYPE_CHECKING:
    from diffusers import ModelMixin


def stable_diffusion_xl_components(**changes: Any) -> Components:
    from diffusers import EulerDiscreteScheduler

    return {
        "vae": image_autoencoder(),
        "text_encoder": clip_text_encoder(),
        "text_encoder_2": clip_text_encoder_with_projection(),
        "tokenizer": clip_tokenizer(),
        "tokenizer_2": clip_tokenizer(),
        "unet": stable_diffusion_xl_unet(),
        "scheduler": EulerDiscreteScheduler(**BETAS),
        **changes,
    }


# The six numbers are the original size, the crop corner and the target size.
XL_CONDITIONING: dict[str, Any] = {
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
    "cross_attention_dim": 2 * TEXT_WIDTH,
    "attention_head_dim": (2, 4),
    "use_linear_projection": True,
    "transformer_layers_per_block": (1, 2),
    "addition_embed_type": "text_time",
    "addition_time_embed_dim": 8,
    "projection_class_embeddings_input_dim": 6 * 8 + TEXT_WIDTH,
}


def stable_diffusion_xl_unet(**changes: Any) -> ModelMixin:
    up_blocks = {"up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D")}
    return stable_diffusion_unet(**{**XL_CONDITIONING, **up_blocks, **changes})


def _refiner_components() -> Components:
    """Only the second text encoder, and an aesthetic score instead of the target size."""
    unet = stable_diffusion_xl_unet(
        cross_attention_dim=TEXT_WIDTH, projection_class_embeddings_input_dim=5 * 8 + TEXT_WIDTH
    )
    return stable_diffusion_xl_components(unet=unet, text_encoder=None, tokenizer=None, requires_aesthetics_score=True)


PIPELINES = (
    SmallPipeline(
        "stable-diffusion-xl",
        "unet",
        "StableDiffusionXLPipeline",
        stable_diffusion_xl_components,
        short_run,
    ),
    SmallPipeline(
        "stable-diffusion-xl-img2img",
        "img2img",
        "StableDiffusionXLImg2ImgPipeline",
        stable_diffusion_xl_components,
        image_run,
    ),
    SmallPipeline(
        "stable-diffusion-xl-refiner",
        "img2img",
        "StableDiffusionXLImg2ImgPipeline",
        _refiner_components,
        image_run,
    ),
    SmallPipeline(
        "stable-diffusion-xl-inpaint",
        "inpaint",
        "StableDiffusionXLInpaintPipeline",
        stable_diffusion_xl_components,
        inpaint_run,
    ),
    SmallPipeline(
        "stable-diffusion-xl-instruct-pix2pix",
        "img2img",
        "StableDiffusionXLInstructPix2PixPipeline",
        lambda: stable_diffusion_xl_components(unet=stable_diffusion_xl_unet(in_channels=8)),
        lambda: short_run(image=seeded_image(32), height=32, width=32),
    ),
    SmallPipeline(
        "stable-diffusion-xl-perturbed-attention",
        "unet",
        "StableDiffusionXLPAGPipeline",
        stable_diffusion_xl_components,
        lambda: short_run(pag_scale=3.0),
    ),
)
