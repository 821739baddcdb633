"""Stable Diffusion 1 and 2 from text alone, and its other ways of guiding and scheduling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import image_autoencoder
from .inputs import short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .text_encoders import TEXT_WIDTH, clip_text_encoder
from .text_tokenizers import clip_tokenizer

if TYPE_CHECKING:
    from diffusers import ModelMixin, SchedulerMixin


def stable_diffusion_components(**changes: Any) -> Components:
    """The components that every pipeline around Stable Diffusion's UNet has, and any others."""
    return {
        "safety_checker": None,
        "feature_extractor": None,
        **latent_diffusion_components(),
        **changes,
    }


def latent_diffusion_components(**changes: Any) -> Components:
    """Stable Diffusion without the safety checker's two slots."""
    return {
        "vae": image_autoencoder(),
        "text_encoder": clip_text_encoder(),
        "tokenizer": clip_tokenizer(),
        "unet": stable_diffusion_unet(),
        "scheduler": ddim_scheduler(),
        **changes,
    }


UNET_SIZES: dict[str, Any] = {
    "block_out_channels": (8, 16),
    "layers_per_block": 1,
    "norm_num_groups": 4,
    "attention_head_dim": 2,
    "cross_attention_dim": TEXT_WIDTH,
}


def stable_diffusion_unet(**changes: Any) -> ModelMixin:
    from diffusers import UNet2DConditionModel

    blocks = {
        "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
        "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
        "sample_size": 16,
    }
    return UNet2DConditionModel(**{**UNET_SIZES, **blocks, **changes})


BETAS: dict[str, Any] = {
    "beta_start": 0.00085,
    "beta_end": 0.012,
    "beta_schedule": "scaled_linear",
}


def ddim_scheduler(**changes: Any) -> SchedulerMixin:
    from diffusers import DDIMScheduler

    settings = {**BETAS, "clip_sample": False, "set_alpha_to_one": False}
    return DDIMScheduler(**{**settings, **changes})


def _with_scheduler(class_name: str, **settings: Any) -> Components:
    import diffusers

    scheduler = getattr(diffusers, class_name)(**BETAS, **settings)
    return stable_diffusion_components(scheduler=scheduler)


def _latent_consistency_components() -> Components:
    """A UNet that takes the guidance scale as an embedding, and so runs once per step."""
    from diffusers import LCMScheduler

    return stable_diffusion_components(
        unet=stable_diffusion_unet(time_cond_proj_dim=8), scheduler=LCMScheduler(**BETAS)
    )


def _gligen_components() -> Components:
    return stable_diffusion_components(unet=stable_diffusion_unet(attention_type="gated"))


def _gligen_arguments() -> Arguments:
    return short_run(
        gligen_phrases=["a red house"],
        gligen_boxes=[[0.1, 0.2, 0.6, 0.8]],
        gligen_scheduled_sampling_beta=0.5,
    )


def _depth_and_colour_components() -> Components:
    autoencoder = image_autoencoder(in_channels=6, out_channels=6)
    return stable_diffusion_components(vae=autoencoder, image_encoder=None)


def _semantic_arguments() -> Arguments:
    return short_run(editing_prompt=["snow"], edit_warmup_steps=1)


def _stable_unclip_components() -> Components:
    """Kandinsky-like: a prior makes an image embedding, which the UNet takes as a class."""
    from diffusers import DDPMScheduler, PriorTransformer
    from diffusers.pipelines.stable_diffusion import StableUnCLIPImageNormalizer

    from .text_encoders import clip_text_encoder_with_projection

    return {
        "prior_tokenizer": clip_tokenizer(),
        "prior_text_encoder": clip_text_encoder_with_projection(),
        "prior": PriorTransformer(num_attention_heads=2, attention_head_dim=8, embedding_dim=TEXT_WIDTH, num_layers=1),
        "prior_scheduler": DDPMScheduler(
            variance_type="fixed_small_log", prediction_type="sample", clip_sample_range=5.0
        ),
        "image_normalizer": StableUnCLIPImageNormalizer(embedding_dim=TEXT_WIDTH),
        "image_noising_scheduler": DDPMScheduler(beta_schedule="squaredcos_cap_v2"),
        **latent_diffusion_components(unet=unclip_unet()),
    }


def unclip_unet() -> ModelMixin:
    return stable_diffusion_unet(class_embed_type="projection", projection_class_embeddings_input_dim=2 * TEXT_WIDTH)


PIPELINES = (
    SmallPipeline(
        "stable-diffusion",
        "unet",
        "StableDiffusionPipeline",
        stable_diffusion_components,
        short_run,
    ),
    SmallPipeline(
        "stable-diffusion-two-images",
        "unet",
        "StableDiffusionPipeline",
        stable_diffusion_components,
        lambda: short_run(num_images_per_prompt=2, height=24, width=40),
    ),
    SmallPipeline(
        "stable-diffusion-unguided",
        "unet",
        "StableDiffusionPipeline",
        stable_diffusion_components,
        lambda: short_run(guidance_scale=1.0),
    ),
    SmallPipeline(
        "stable-diffusion-pndm",
        "unet",
        "StableDiffusionPipeline",
        lambda: _with_scheduler("PNDMScheduler", skip_prk_steps=True),
        lambda: short_run(num_inference_steps=4),
    ),
    SmallPipeline(
        "stable-diffusion-heun",
        "unet",
        "StableDiffusionPipeline",
        lambda: _with_scheduler("HeunDiscreteScheduler"),
        short_run,
    ),
    SmallPipeline(
        "stable-diffusion-dpm-solver",
        "unet",
        "StableDiffusionPipeline",
        lambda: _with_scheduler("DPMSolverMultistepScheduler"),
        short_run,
    ),
    SmallPipeline(
        "latent-consistency",
        "unet",
        "LatentConsistencyModelPipeline",
        _latent_consistency_components,
        short_run,
    ),
    SmallPipeline(
        "stable-diffusion-perturbed-attention",
        "unet",
        "StableDiffusionPAGPipeline",
        stable_diffusion_components,
        lambda: short_run(pag_scale=3.0),
    ),
    SmallPipeline(
        "stable-diffusion-self-attention-guidance",
        "unet",
        "StableDiffusionSAGPipeline",
        stable_diffusion_components,
        lambda: short_run(sag_scale=1.0),
    ),
    SmallPipeline(
        "stable-diffusion-panorama",
        "unet",
        "StableDiffusionPanoramaPipeline",
        lambda: stable_diffusion_components(vae=image_autoencoder(levels=4)),
        # Wide enough for two of the overlapping views, each 64 latents wide.
        lambda: short_run(height=64, width=576),
    ),
    SmallPipeline(
        "stable-diffusion-gligen",
        "unet",
        "StableDiffusionGLIGENPipeline",
        _gligen_components,
        _gligen_arguments,
    ),
    SmallPipeline(
        "stable-diffusion-ldm3d",
        "unet",
        "StableDiffusionLDM3DPipeline",
        _depth_and_colour_components,
        short_run,
    ),
    SmallPipeline(
        "stable-diffusion-semantic",
        "unet",
        "SemanticStableDiffusionPipeline",
        stable_diffusion_components,
        _semantic_arguments,
    ),
    SmallPipeline(
        "stable-unclip",
        "cascade",
        "StableUnCLIPPipeline",
        _stable_unclip_components,
        lambda: short_run(prior_num_inference_steps=2),
    ),
    SmallPipeline(
        "stable-diffusion-attend-and-excite",
        "unet",
        "StableDiffusionAttendAndExcitePipeline",
        stable_diffusion_components,
        lambda: short_run(token_indices=[2], max_iter_to_alter=1, attn_res=(16, 16)),
    ),
)
