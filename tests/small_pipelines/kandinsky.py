"""Kandinsky 2.2 (a prior and a decoder), Kandinsky 3 and Kandinsky 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import hunyuan_video_autoencoder, image_autoencoder
from .image_encoders import clip_image_encoder, clip_image_processor
from .image_inputs import image_run
from .inputs import half_mask, seeded_image, seeded_tensor, short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .stable_diffusion import BETAS, ddim_scheduler, stable_diffusion_unet
from .text_encoders import (
    TEXT_WIDTH,
    clip_text_encoder,
    clip_text_encoder_with_projection,
    qwen2_5_vl,
    t5_encoder,
)
from .text_tokenizers import clip_tokenizer, qwen_tokenizer, t5_tokenizer
from .wan import video_run

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline, ModelMixin


def _allow_small_images(pipeline: DiffusionPipeline) -> None:
    """The sizes that it was trained for are those of a megapixel: others are replaced by the nearest of them."""
    pipeline.resolutions = [(64, 64), (32, 64)]


def _combined_components() -> Components:
    prior = {f"prior_{name}": component for name, component in _prior_components().items()}
    return {**_decoder_components(), **prior}


def _prior_components() -> Components:
    from diffusers import PriorTransformer, UnCLIPScheduler

    return {
        "prior": PriorTransformer(num_attention_heads=2, attention_head_dim=8, embedding_dim=TEXT_WIDTH, num_layers=1),
        "image_encoder": clip_image_encoder(),
        "text_encoder": clip_text_encoder_with_projection(),
        "tokenizer": clip_tokenizer(),
        "scheduler": UnCLIPScheduler(variance_type="fixed_small_log", prediction_type="sample", clip_sample_range=10.0),
        "image_processor": clip_image_processor(),
    }


def _decoder_components(movq_levels: int = 2, **unet_changes: Any) -> Components:
    from diffusers import DDPMScheduler

    return {
        "unet": _decoder_unet(**unet_changes),
        "scheduler": DDPMScheduler(**BETAS, variance_type="learned_range"),
        "movq": _movq(movq_levels),
    }


def _decoder_unet(**changes: Any) -> ModelMixin:
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


def _movq(levels: int = 2) -> ModelMixin:
    from diffusers import VQModel

    # The spatial norms of the decoder always have 32 groups.
    return VQModel(
        block_out_channels=(32,) * levels,
        down_block_types=(*("DownEncoderBlock2D",) * (levels - 1), "AttnDownEncoderBlock2D"),
        up_block_types=("AttnUpDecoderBlock2D", *("UpDecoderBlock2D",) * (levels - 1)),
        latent_channels=4,
        layers_per_block=1,
        norm_num_groups=4,
        norm_type="spatial",
        num_vq_embeddings=12,
        vq_embed_dim=4,
    )


def _decoder_run(**changes: Any) -> Arguments:
    """A run from an image embedding, as a prior would have made it."""
    embedding = seeded_tensor(1, TEXT_WIDTH)
    arguments: Arguments = {
        "prompt": None,
        "image_embeds": embedding,
        "negative_image_embeds": -embedding,
        "height": 32,
        "width": 32,
    }
    return short_run(**{**arguments, **changes})


def _image_decoder_components() -> Components:
    return {**_decoder_components(), "scheduler": ddim_scheduler()}


def _hinted_decoder_components() -> Components:
    """A decoder that also sees a hint, reduced eight times as its latents are."""
    return _decoder_components(movq_levels=4, in_channels=8, addition_embed_type="image_hint")


def _kandinsky3_components() -> Components:
    from diffusers import DDPMScheduler, Kandinsky3UNet

    unet = Kandinsky3UNet(
        time_embedding_dim=4,
        groups=2,
        attention_head_dim=4,
        layers_per_block=3,
        block_out_channels=(32, 64),
        cross_attention_dim=4,
        encoder_hid_dim=TEXT_WIDTH,
    )
    return {
        "unet": unet,
        "scheduler": DDPMScheduler(beta_schedule="squaredcos_cap_v2"),
        "movq": _movq(),
        "text_encoder": t5_encoder(),
        "tokenizer": t5_tokenizer(),
    }


def _kandinsky5_components(**transformer_changes: Any) -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler, Kandinsky5Transformer3DModel

    sizes: dict[str, Any] = {
        "in_text_dim": TEXT_WIDTH,
        "in_text_dim2": TEXT_WIDTH,
        "time_dim": 32,
        "model_dim": 48,
        "ff_dim": 64,
        "num_text_blocks": 1,
        "num_visual_blocks": 1,
        "axes_dims": (8, 8, 8),
    }
    return {
        "transformer": Kandinsky5Transformer3DModel(**{**sizes, **transformer_changes}),
        "vae": hunyuan_video_autoencoder(),
        "scheduler": FlowMatchEulerDiscreteScheduler(shift=7.0),
        "text_encoder": qwen2_5_vl(),
        "tokenizer": qwen_tokenizer(),
        "text_encoder_2": clip_text_encoder(),
        "tokenizer_2": clip_tokenizer(),
    }


PIPELINES = (
    SmallPipeline(
        "kandinsky-2.2-combined",
        "cascade",
        "KandinskyV22CombinedPipeline",
        _combined_components,
        lambda: short_run(prior_num_inference_steps=2, height=32, width=32),
    ),
    SmallPipeline(
        "kandinsky-2.2-prior",
        "prior",
        "KandinskyV22PriorPipeline",
        _prior_components,
        short_run,
    ),
    SmallPipeline(
        "kandinsky-2.2-decoder",
        "unet",
        "KandinskyV22Pipeline",
        _decoder_components,
        _decoder_run,
    ),
    SmallPipeline(
        "kandinsky-2.2-img2img",
        "img2img",
        "KandinskyV22Img2ImgPipeline",
        _image_decoder_components,
        lambda: _decoder_run(image=seeded_image(32), num_inference_steps=3, strength=0.7),
    ),
    SmallPipeline(
        "kandinsky-2.2-controlnet",
        "controlnet",
        "KandinskyV22ControlnetPipeline",
        _hinted_decoder_components,
        lambda: _decoder_run(hint=seeded_tensor(1, 3, 64, 64), height=64, width=64),
    ),
    SmallPipeline(
        "kandinsky-3",
        "unet",
        "Kandinsky3Pipeline",
        _kandinsky3_components,
        lambda: short_run(height=16, width=16),
    ),
    SmallPipeline(
        "kandinsky-5-video",
        "video",
        "Kandinsky5T2VPipeline",
        _kandinsky5_components,
        lambda: video_run(height=32, width=32, num_frames=5),
    ),
    SmallPipeline(
        "kandinsky-5-image",
        "mmdit",
        "Kandinsky5T2IPipeline",
        lambda: {
            **_kandinsky5_components(in_visual_dim=4, out_visual_dim=4),
            "vae": image_autoencoder(levels=4, mid_block_add_attention=False),
        },
        lambda: short_run(height=32, width=32),
        extend=_allow_small_images,
    ),
    SmallPipeline(
        "kandinsky-5-image-to-video",
        "video",
        "Kandinsky5I2VPipeline",
        lambda: _kandinsky5_components(visual_cond=True),
        lambda: video_run(image=seeded_image(32), height=32, width=32, num_frames=17),
    ),
    SmallPipeline(
        "kandinsky-2.2-inpaint",
        "inpaint",
        "KandinskyV22InpaintPipeline",
        lambda: _decoder_components(in_channels=9),
        lambda: _decoder_run(image=seeded_image(32), mask_image=half_mask(32)),
    ),
    SmallPipeline(
        "kandinsky-3-img2img",
        "img2img",
        "Kandinsky3Img2ImgPipeline",
        _kandinsky3_components,
        lambda: image_run(image=seeded_image(16)),
    ),
)
