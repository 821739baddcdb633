"""Pipelines of several stages: Stable Cascade, Würstchen, DeepFloyd IF and UnCLIP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .image_encoders import clip_image_encoder, clip_image_processor
from .inputs import PROMPT, seeded_generator, seeded_image, seeded_tensor, short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .stable_diffusion import stable_diffusion_unet
from .text_encoders import (
    TEXT_WIDTH,
    clip_text_encoder,
    clip_text_encoder_with_projection,
    t5_encoder,
)
from .text_tokenizers import clip_tokenizer, t5_tokenizer

if TYPE_CHECKING:
    from diffusers import ModelMixin, SchedulerMixin


def _combined(decoder: Components, prior: Components) -> Components:
    """The components of both stages, a prior's under the names of a combined pipeline."""
    return {**decoder, **{f"prior_{name}": component for name, component in prior.items()}}


def _combined_run(**changes: Any) -> Arguments:
    return short_run(prior_num_inference_steps=2, height=128, width=128, **changes)


def _stable_cascade_prior() -> Components:
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


PRIOR_LATENT_CHANNELS = 16


def _stable_cascade_decoder() -> Components:
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
        effnet_in_channels=PRIOR_LATENT_CHANNELS,
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


def _decoder_arguments() -> Arguments:
    return short_run(image_embeddings=seeded_tensor(1, PRIOR_LATENT_CHANNELS, 4, 4), guidance_scale=2.0)


def _wuerstchen_prior() -> Components:
    from diffusers import DDPMWuerstchenScheduler
    from diffusers.pipelines.deprecated.wuerstchen import WuerstchenPrior

    return {
        "prior": WuerstchenPrior(c_in=2, c=8, depth=2, c_cond=TEXT_WIDTH, c_r=8, nhead=2),
        "text_encoder": clip_text_encoder(),
        "tokenizer": clip_tokenizer(),
        "scheduler": DDPMWuerstchenScheduler(),
    }


def _wuerstchen_decoder() -> Components:
    from diffusers import DDPMWuerstchenScheduler
    from diffusers.pipelines.deprecated.wuerstchen import WuerstchenDiffNeXt

    decoder = WuerstchenDiffNeXt(
        c_cond=TEXT_WIDTH,
        c_hidden=[16],
        nhead=[-1],
        blocks=[2],
        level_config=["CT"],
        clip_embd=TEXT_WIDTH,
        inject_effnet=[False],
    )
    return {
        "decoder": decoder,
        "text_encoder": clip_text_encoder(),
        "tokenizer": clip_tokenizer(),
        "scheduler": DDPMWuerstchenScheduler(),
        "vqgan": _paella_autoencoder(),
    }


def _deepfloyd_components(**unet_changes: Any) -> Components:
    """A UNet that works on pixels and sees the text by added keys and values."""
    settings: dict[str, Any] = {
        "in_channels": 3,
        "out_channels": 6,
        "sample_size": 16,
        "down_block_types": ("ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D"),
        "up_block_types": ("SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"),
        "mid_block_type": "UNetMidBlock2DSimpleCrossAttn",
        "encoder_hid_dim": TEXT_WIDTH,
        "addition_embed_type": "text",
        "addition_embed_type_num_heads": 2,
        "cross_attention_norm": "group_norm",
        "resnet_time_scale_shift": "scale_shift",
        "act_fn": "gelu",
    }
    return {
        "unet": stable_diffusion_unet(**{**settings, **unet_changes}),
        "scheduler": _deepfloyd_scheduler(thresholding=True, variance_type="learned_range"),
        "text_encoder": t5_encoder(),
        "tokenizer": t5_tokenizer(),
        "watermarker": None,
        "safety_checker": None,
        "feature_extractor": None,
    }


def _deepfloyd_scheduler(**settings: Any) -> SchedulerMixin:
    from diffusers import DDPMScheduler

    return DDPMScheduler(beta_schedule="squaredcos_cap_v2", **settings)


def _deepfloyd_upscale_components() -> Components:
    components = _deepfloyd_components(in_channels=6, class_embed_type="timestep")
    return {**components, "image_noising_scheduler": _deepfloyd_scheduler()}


def _unclip_components() -> Components:
    from diffusers import PriorTransformer, UnCLIPScheduler
    from diffusers.pipelines.deprecated.unclip import UnCLIPTextProjModel

    decoder = stable_diffusion_unet(
        in_channels=3,
        out_channels=6,
        down_block_types=("ResnetDownsampleBlock2D", "SimpleCrossAttnDownBlock2D"),
        up_block_types=("SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"),
        mid_block_type="UNetMidBlock2DSimpleCrossAttn",
        resnet_time_scale_shift="scale_shift",
        class_embed_type="identity",
    )
    time_embedding_width = 4 * decoder.config.block_out_channels[0]
    return {
        "prior": PriorTransformer(num_attention_heads=2, attention_head_dim=8, embedding_dim=TEXT_WIDTH, num_layers=1),
        "decoder": decoder,
        "text_proj": UnCLIPTextProjModel(
            clip_embeddings_dim=TEXT_WIDTH,
            time_embed_dim=time_embedding_width,
            cross_attention_dim=TEXT_WIDTH,
        ),
        "super_res_first": _super_resolution_unet(),
        "super_res_last": _super_resolution_unet(),
        "text_encoder": clip_text_encoder_with_projection(),
        "tokenizer": clip_tokenizer(),
        "prior_scheduler": UnCLIPScheduler(
            variance_type="fixed_small_log", prediction_type="sample", clip_sample_range=5.0
        ),
        "decoder_scheduler": UnCLIPScheduler(variance_type="learned_range"),
        "super_res_scheduler": UnCLIPScheduler(variance_type="fixed_small_log"),
    }


def _super_resolution_unet() -> ModelMixin:
    from diffusers import UNet2DModel

    return UNet2DModel(
        sample_size=32,
        in_channels=6,
        out_channels=3,
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        down_block_types=("ResnetDownsampleBlock2D",) * 2,
        up_block_types=("ResnetUpsampleBlock2D",) * 2,
        attention_head_dim=4,
    )


def _unclip_arguments() -> Arguments:
    return {
        "prompt": PROMPT,
        "generator": seeded_generator(),
        "prior_num_inference_steps": 2,
        "decoder_num_inference_steps": 2,
        "super_res_num_inference_steps": 2,
        "output_type": "np",
    }


PIPELINES = (
    SmallPipeline(
        "stable-cascade-combined",
        "cascade",
        "StableCascadeCombinedPipeline",
        lambda: _combined(_stable_cascade_decoder(), _stable_cascade_prior()),
        lambda: _combined_run(decoder_guidance_scale=2.0),
    ),
    SmallPipeline(
        "stable-cascade-prior",
        "prior",
        "StableCascadePriorPipeline",
        _stable_cascade_prior,
        lambda: short_run(height=128, width=128),
    ),
    SmallPipeline(
        "stable-cascade-decoder",
        "unet",
        "StableCascadeDecoderPipeline",
        _stable_cascade_decoder,
        _decoder_arguments,
    ),
    SmallPipeline(
        "wuerstchen-combined",
        "cascade",
        "WuerstchenCombinedPipeline",
        lambda: _combined(_wuerstchen_decoder(), _wuerstchen_prior()),
        lambda: _combined_run(decoder_guidance_scale=2.0),
    ),
    SmallPipeline(
        "deepfloyd",
        "cascade",
        "IFPipeline",
        _deepfloyd_components,
        lambda: short_run(clean_caption=False),
    ),
    SmallPipeline(
        "deepfloyd-upscale",
        "upscale",
        "IFSuperResolutionPipeline",
        _deepfloyd_upscale_components,
        lambda: short_run(image=seeded_image(16), height=32, width=32, clean_caption=False),
    ),
    SmallPipeline("unclip", "cascade", "UnCLIPPipeline", _unclip_components, _unclip_arguments),
)
