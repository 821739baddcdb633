"""Pipelines of several stages: Kandinsky 2.2 and Stable Cascade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .image_encoders import clip_image_encoder, clip_image_processor
from .inputs import short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .stable_diffusion import ddim_scheduler, stable_diffusion_unet
from .text_encoders import TEXT_WIDTH, clip_text_encoder_with_projection
from .tokenizers import clip_tokenizer

if TYPE_CHECKING:
    from diffusers import ModelMixin


def _kandinsky_components() -> Components:
    return {**kandinsky_decoder_components(), **with_prefix(kandinsky_prior_components())}


def kandinsky_decoder_components(**unet_changes: Any) -> Components:
    return {
        "unet": _kandinsky_unet(**unet_changes),
        "scheduler": ddim_scheduler(beta_schedule="linear"),
        "movq": _kandinsky_movq(),
    }


def _kandinsky_unet(**changes: Any) -> ModelMixin:
    settings: dict[str, Any] = {
        "in_channels": 4,
        "out_channels": 8,
        "addition_embed_type": "image",
        "down_block_types": ("ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D"),
        "up_block_types": ("SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"),
        "mid_block_type": "UNetMidBlock2DSimpleCrossAttn",
        "encoder_hid_dim": TEXT_WIDTH,
        "encoder_hid_dim_type": "image_proj",
        "resnet_time_scale_shift": "scale_shift",
    }
    return stable_diffusion_unet(**{**settings, **changes})


def _kandinsky_movq() -> ModelMixin:
    from diffusers import VQModel

    # The spatial norms of the decoder always have 32 groups.
    return VQModel(
        block_out_channels=(32, 32),
        down_block_types=("DownEncoderBlock2D", "AttnDownEncoderBlock2D"),
        up_block_types=("AttnUpDecoderBlock2D", "UpDecoderBlock2D"),
        latent_channels=4,
        layers_per_block=1,
        norm_num_groups=4,
        norm_type="spatial",
        num_vq_embeddings=12,
        vq_embed_dim=4,
    )


def kandinsky_prior_components() -> Components:
    from diffusers import PriorTransformer, UnCLIPScheduler

    return {
        "prior": PriorTransformer(
            num_attention_heads=2, attention_head_dim=8, embedding_dim=TEXT_WIDTH, num_layers=1
        ),
        "image_encoder": clip_image_encoder(),
        "text_encoder": clip_text_encoder_with_projection(),
        "tokenizer": clip_tokenizer(),
        "scheduler": UnCLIPScheduler(
            variance_type="fixed_small_log", prediction_type="sample", clip_sample_range=10.0
        ),
        "image_processor": clip_image_processor(),
    }


def with_prefix(prior_components: Components) -> Components:
    """A prior's components under the names they have in a combined pipeline."""
    return {f"prior_{name}": component for name, component in prior_components.items()}


def _combined_run(**changes: Any) -> Arguments:
    return short_run(prior_num_inference_steps=2, **changes)


def _stable_cascade_components() -> Components:
    return {**stable_cascade_decoder_components(), **with_prefix(stable_cascade_prior_components())}


def stable_cascade_prior_components() -> Components:
    from diffusers import DDPMWuerstchenScheduler, StableCascadeUNet

    prior = StableCascadeUNet(
        conditioning_dim=16,
        block_out_channels=(16, 16),
        num_attention_heads=(2, 2),
        down_num_layers_per_block=(1, 1),
        up_num_layers_per_block=(1, 1),
        switch_level=(False,),
        clip_image_in_channels=TEXT_WIDTH,
        clip_text_in_channels=TEXT_WIDTH,
        clip_text_pooled_in_channels=TEXT_WIDTH,
    )
    return {
        "prior": prior,
        "text_encoder": clip_text_encoder_with_projection(),
        "tokenizer": clip_tokenizer(),
        "scheduler": DDPMWuerstchenScheduler(),
        "feature_extractor": clip_image_processor(),
        "image_encoder": clip_image_encoder(),
    }


def stable_cascade_decoder_components() -> Components:
    from diffusers import DDPMWuerstchenScheduler, StableCascadeUNet

    plain_blocks = ("SDCascadeResBlock", "SDCascadeTimestepBlock")
    decoder = StableCascadeUNet(
        in_channels=4,
        out_channels=4,
        patch_size=2,
        conditioning_dim=16,
        block_out_channels=(8, 16),
        num_attention_heads=(-1, 2),
        down_num_layers_per_block=(1, 1),
        up_num_layers_per_block=(1, 1),
        up_blocks_repeat_mappers=(2, 1),
        block_types_per_layer=(plain_blocks, (*plain_blocks, "SDCascadeAttnBlock")),
        clip_text_pooled_in_channels=TEXT_WIDTH,
        effnet_in_channels=16,
        timestep_conditioning_type=("sca",),
    )
    return {
        "decoder": decoder,
        "text_encoder": clip_text_encoder_with_projection(),
        "tokenizer": clip_tokenizer(),
        "scheduler": DDPMWuerstchenScheduler(),
        "vqgan": _paella_autoencoder(),
    }


def _paella_autoencoder() -> ModelMixin:
    from diffusers.pipelines.deprecated.wuerstchen import PaellaVQModel

    return PaellaVQModel(bottleneck_blocks=1, embed_dim=16, num_vq_embeddings=4)


PIPELINES = (
    SmallPipeline(
        "kandinsky-2.2-combined",
        "cascade",
        "KandinskyV22CombinedPipeline",
        _kandinsky_components,
        lambda: _combined_run(height=32, width=32),
    ),
    SmallPipeline(
        "stable-cascade-combined",
        "cascade",
        "StableCascadeCombinedPipeline",
        _stable_cascade_components,
        lambda: _combined_run(height=128, width=128, decoder_guidance_scale=2.0),
    ),
)
