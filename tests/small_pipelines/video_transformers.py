"""Text-to-video diffusion transformers: CogVideoX, HunyuanVideo, LTX, Mochi and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import cogvideox_autoencoder, hunyuan_video_autoencoder, image_autoencoder
from .image_encoders import clip_image_processor, siglip_image_encoder
from .inputs import seeded_image, seeded_video
from .small_pipeline import Components, SmallPipeline
from .stable_diffusion import ddim_scheduler
from .text_encoders import TEXT_WIDTH, clip_text_encoder, llama_model, qwen2_vl, t5_encoder
from .text_tokenizers import clip_tokenizer, llama_tokenizer, qwen_tokenizer, t5_tokenizer
from .wan import video_run

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline, ModelMixin


def _with_t5(**components: Any) -> Components:
    return {"text_encoder": t5_encoder(), "tokenizer": t5_tokenizer(), **components}


def _flow_with_t5(**components: Any) -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler

    return _with_t5(scheduler=FlowMatchEulerDiscreteScheduler(), **components)


def cogvideox_components(**transformer_changes: Any) -> Components:
    from diffusers import CogVideoXDDIMScheduler, CogVideoXTransformer3DModel

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
    return _with_t5(
        transformer=CogVideoXTransformer3DModel(**{**sizes, **transformer_changes}),
        vae=cogvideox_autoencoder(),
        scheduler=CogVideoXDDIMScheduler(),
    )


def _hunyuan_video_components(**changes: Any) -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler

    return {
        "transformer": _hunyuan_video_transformer(),
        "vae": hunyuan_video_autoencoder(),
        "scheduler": FlowMatchEulerDiscreteScheduler(shift=7.0),
        "text_encoder": llama_model(),
        "tokenizer": llama_tokenizer(),
        "text_encoder_2": clip_text_encoder(),
        "tokenizer_2": clip_tokenizer(),
        **changes,
    }


HUNYUAN_VIDEO_SIZES: dict[str, Any] = {
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


def _hunyuan_video_transformer(**changes: Any) -> ModelMixin:
    from diffusers import HunyuanVideoTransformer3DModel

    return HunyuanVideoTransformer3DModel(**{**HUNYUAN_VIDEO_SIZES, **changes})


def _framepack_components() -> Components:
    """Makes a video in sections, each conditioned on the ones made before."""
    from diffusers import HunyuanVideoFramepackTransformer3DModel

    transformer = HunyuanVideoFramepackTransformer3DModel(
        **{**HUNYUAN_VIDEO_SIZES, "patch_size": 2},
        has_image_proj=True,
        image_proj_dim=TEXT_WIDTH,
        has_clean_x_embedder=True,
    )
    return _hunyuan_video_components(
        transformer=transformer,
        image_encoder=siglip_image_encoder(),
        feature_extractor=clip_image_processor(),
    )


def _ltx_components() -> Components:
    from diffusers import AutoencoderKLLTXVideo, LTXVideoTransformer3DModel

    transformer = LTXVideoTransformer3DModel(
        in_channels=8,
        out_channels=8,
        num_attention_heads=2,
        attention_head_dim=16,
        cross_attention_dim=32,
        num_layers=1,
        caption_channels=TEXT_WIDTH,
    )
    autoencoder = AutoencoderKLLTXVideo(
        latent_channels=8,
        block_out_channels=(8, 8, 8, 8),
        decoder_block_out_channels=(8, 8, 8, 8),
        layers_per_block=(1, 1, 1, 1, 1),
        decoder_layers_per_block=(1, 1, 1, 1, 1),
        spatio_temporal_scaling=(True, True, False, False),
        decoder_spatio_temporal_scaling=(True, True, False, False),
        patch_size=1,
    )
    return _flow_with_t5(transformer=transformer, vae=autoencoder)


def _mochi_components() -> Components:
    from diffusers import AutoencoderKLMochi, MochiTransformer3DModel

    transformer = MochiTransformer3DModel(
        num_attention_heads=2,
        attention_head_dim=8,
        num_layers=2,
        pooled_projection_dim=16,
        text_embed_dim=TEXT_WIDTH,
        time_embed_dim=4,
    )
    autoencoder = AutoencoderKLMochi(
        encoder_block_out_channels=(32, 32, 32, 32),
        decoder_block_out_channels=(32, 32, 32, 32),
        layers_per_block=(1, 1, 1, 1, 1),
    )
    return _flow_with_t5(transformer=transformer, vae=autoencoder)


def _fill_position_frequencies(pipeline: DiffusionPipeline) -> None:
    """The model leaves these weights as they come; fill them as training would."""
    import torch

    torch.nn.init.normal_(pipeline.transformer.pos_frequencies, std=0.02)


def _allegro_components() -> Components:
    from diffusers import AllegroTransformer3DModel, AutoencoderKLAllegro

    transformer = AllegroTransformer3DModel(
        num_attention_heads=2,
        attention_head_dim=12,
        num_layers=1,
        cross_attention_dim=24,
        sample_width=8,
        sample_height=8,
        sample_frames=8,
        caption_channels=TEXT_WIDTH,
    )
    autoencoder = AutoencoderKLAllegro(block_out_channels=(8, 8, 8, 8), layers_per_block=1, norm_num_groups=2)
    # This autoencoder can decode only in tiles.
    autoencoder.enable_tiling()
    return _with_t5(transformer=transformer, vae=autoencoder, scheduler=ddim_scheduler())


def _latte_components() -> Components:
    """A PixArt-like transformer whose blocks attend over space and time in turn."""
    from diffusers import LatteTransformer3DModel

    transformer = LatteTransformer3DModel(
        sample_size=8,
        num_layers=1,
        patch_size=2,
        attention_head_dim=8,
        num_attention_heads=3,
        caption_channels=TEXT_WIDTH,
        in_channels=4,
        out_channels=8,
        cross_attention_dim=24,
        attention_bias=True,
        activation_fn="gelu-approximate",
        norm_type="ada_norm_single",
        norm_elementwise_affine=False,
        video_length=2,
    )
    return _with_t5(transformer=transformer, vae=image_autoencoder(), scheduler=ddim_scheduler())


def _easyanimate_components() -> Components:
    from diffusers import (
        AutoencoderKLMagvit,
        EasyAnimateTransformer3DModel,
        FlowMatchEulerDiscreteScheduler,
    )

    transformer = EasyAnimateTransformer3DModel(
        num_attention_heads=2,
        attention_head_dim=16,
        in_channels=4,
        out_channels=4,
        time_embed_dim=2,
        text_embed_dim=TEXT_WIDTH,
        num_layers=1,
        patch_size=2,
    )
    autoencoder = AutoencoderKLMagvit(
        block_out_channels=(8, 8, 8, 8),
        latent_channels=4,
        layers_per_block=1,
        norm_num_groups=2,
        spatial_group_norm=False,
    )
    return {
        "transformer": transformer,
        "vae": autoencoder,
        "scheduler": FlowMatchEulerDiscreteScheduler(),
        "text_encoder": qwen2_vl(),
        "tokenizer": qwen_tokenizer(),
    }


PIPELINES = (
    SmallPipeline("cogvideox", "video", "CogVideoXPipeline", cogvideox_components, video_run),
    SmallPipeline(
        "cogvideox-rotary",
        "video",
        "CogVideoXPipeline",
        lambda: cogvideox_components(use_rotary_positional_embeddings=True),
        lambda: video_run(use_dynamic_cfg=True),
    ),
    SmallPipeline(
        "cogvideox-image-to-video",
        "video",
        "CogVideoXImageToVideoPipeline",
        lambda: cogvideox_components(in_channels=8),
        lambda: video_run(image=seeded_image(16)),
    ),
    SmallPipeline(
        "cogvideox-video-to-video",
        "video",
        "CogVideoXVideoToVideoPipeline",
        cogvideox_components,
        lambda: video_run(video=seeded_video(9, 16), num_frames=None, num_inference_steps=3, strength=0.7),
    ),
    SmallPipeline("hunyuan-video", "video", "HunyuanVideoPipeline", _hunyuan_video_components, video_run),
    SmallPipeline(
        "hunyuan-video-framepack",
        "video",
        "HunyuanVideoFramepackPipeline",
        _framepack_components,
        lambda: video_run(image=seeded_image(32), height=32, width=32, latent_window_size=3),
    ),
    SmallPipeline(
        "hunyuan-skyreels-image-to-video",
        "video",
        "HunyuanSkyreelsImageToVideoPipeline",
        lambda: _hunyuan_video_components(transformer=_hunyuan_video_transformer(in_channels=8)),
        lambda: video_run(image=seeded_image(16)),
    ),
    SmallPipeline("ltx", "video", "LTXPipeline", _ltx_components, lambda: video_run(height=32, width=32)),
    SmallPipeline(
        "ltx-image-to-video",
        "video",
        "LTXImageToVideoPipeline",
        _ltx_components,
        lambda: video_run(image=seeded_image(32), height=32, width=32),
    ),
    SmallPipeline(
        "mochi",
        "video",
        "MochiPipeline",
        _mochi_components,
        lambda: video_run(num_frames=7),
        extend=_fill_position_frequencies,
    ),
    SmallPipeline(
        "allegro",
        "video",
        "AllegroPipeline",
        _allegro_components,
        lambda: video_run(num_frames=8, clean_caption=False),
    ),
    SmallPipeline(
        "latte",
        "video",
        "LattePipeline",
        _latte_components,
        lambda: video_run(num_frames=None, video_length=2, clean_caption=False),
    ),
    SmallPipeline(
        "easyanimate",
        "video",
        "EasyAnimatePipeline",
        _easyanimate_components,
        lambda: video_run(num_frames=5, negative_prompt=""),
    ),
    SmallPipeline(
        "cogvideox-fun-control",
        "video",
        "CogVideoXFunControlPipeline",
        lambda: cogvideox_components(in_channels=8),
        lambda: video_run(control_video=seeded_video(9, 16), num_frames=None),
    ),
    SmallPipeline(
        "ltx-condition",
        "video",
        "LTXConditionPipeline",
        _ltx_components,
        lambda: video_run(image=seeded_image(32), height=32, width=32),
    ),
)
