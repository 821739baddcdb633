"""Text-to-video diffusion transformers: Wan, CogVideoX and HunyuanVideo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import cogvideox_autoencoder, hunyuan_video_autoencoder, wan_autoencoder
from .inputs import short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .text_encoders import TEXT_WIDTH, clip_text_encoder, llama_model, t5_encoder, umt5_encoder
from .tokenizers import clip_tokenizer, llama_tokenizer, t5_tokenizer

if TYPE_CHECKING:
    from diffusers import ModelMixin


def video_run(**changes: Any) -> Arguments:
    sizes: Arguments = {"height": 16, "width": 16, "num_frames": 9}
    return short_run(**{**sizes, **changes})


def wan_components(**changes: Any) -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler

    return {
        "transformer": wan_transformer(),
        "vae": wan_autoencoder(),
        "scheduler": FlowMatchEulerDiscreteScheduler(shift=7.0),
        "text_encoder": umt5_encoder(),
        "tokenizer": t5_tokenizer(),
        **changes,
    }


def wan_transformer(**changes: Any) -> ModelMixin:
    from diffusers import WanTransformer3DModel

    return WanTransformer3DModel(**{**WAN_TRANSFORMER_SIZES, **changes})


WAN_TRANSFORMER_SIZES: dict[str, Any] = {
    "patch_size": (1, 2, 2),
    "num_attention_heads": 2,
    "attention_head_dim": 12,
    "in_channels": 16,
    "out_channels": 16,
    "text_dim": TEXT_WIDTH,
    "freq_dim": 32,
    "ffn_dim": 32,
    "num_layers": 2,
    "cross_attn_norm": True,
    "rope_max_seq_len": 32,
}


def cogvideox_components(**transformer_changes: Any) -> Components:
    from diffusers import CogVideoXDDIMScheduler

    return {
        "transformer": _cogvideox_transformer(**transformer_changes),
        "vae": cogvideox_autoencoder(),
        "scheduler": CogVideoXDDIMScheduler(),
        "text_encoder": t5_encoder(),
        "tokenizer": t5_tokenizer(),
    }


def _cogvideox_transformer(**changes: Any) -> ModelMixin:
    from diffusers import CogVideoXTransformer3DModel

    sizes: dict[str, Any] = {
        "num_attention_heads": 2,
        "attention_head_dim": 16,
        "in_channels": 4,
        "out_channels": 4,
        "time_embed_dim": 8,
        "text_embed_dim": TEXT_WIDTH,
        "num_layers": 1,
        "sample_width": 2,
        "sample_height": 2,
        "sample_frames": 9,
    }
    return CogVideoXTransformer3DModel(**{**sizes, **changes})


def hunyuan_video_components(**changes: Any) -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler, HunyuanVideoTransformer3DModel

    return {
        "transformer": HunyuanVideoTransformer3DModel(**HUNYUAN_VIDEO_TRANSFORMER_SIZES),
        "vae": hunyuan_video_autoencoder(),
        "scheduler": FlowMatchEulerDiscreteScheduler(shift=7.0),
        "text_encoder": llama_model(),
        "tokenizer": llama_tokenizer(),
        "text_encoder_2": clip_text_encoder(),
        "tokenizer_2": clip_tokenizer(),
        **changes,
    }


HUNYUAN_VIDEO_TRANSFORMER_SIZES: dict[str, Any] = {
    "in_channels": 4,
    "out_channels": 4,
    "num_attention_heads": 2,
    "attention_head_dim": 10,
    "num_layers": 1,
    "num_single_layers": 1,
    "num_refiner_layers": 1,
    "patch_size": 1,
    "text_embed_dim": TEXT_WIDTH,
    "pooled_projection_dim": TEXT_WIDTH,
    "rope_axes_dim": (2, 4, 4),
}


PIPELINES = (
    SmallPipeline("wan-2.1", "video", "WanPipeline", wan_components, video_run),
    SmallPipeline("cogvideox", "video", "CogVideoXPipeline", cogvideox_components, video_run),
    SmallPipeline(
        "hunyuan-video", "video", "HunyuanVideoPipeline", hunyuan_video_components, video_run
    ),
)
