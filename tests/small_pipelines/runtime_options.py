"""Options switched on after a pipeline is made, which change what it computes or how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .inputs import short_run
from .small_pipeline import SmallPipeline
from .stable_diffusion import stable_diffusion_components
from .stable_diffusion_xl import stable_diffusion_xl_components
from .video_transformers import cogvideox_components
from .wan import video_run, wan_components

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline


def _tile_image_autoencoder(pipeline: DiffusionPipeline) -> None:
    pipeline.vae.enable_tiling()
    pipeline.vae.tile_sample_min_size = 16
    pipeline.vae.tile_latent_min_size = 8


def _tile_video_autoencoder(pipeline: DiffusionPipeline) -> None:
    pipeline.vae.enable_tiling(
        tile_sample_min_height=16,
        tile_sample_min_width=16,
        tile_sample_stride_height=8,
        tile_sample_stride_width=8,
    )


def _slice_autoencoder(pipeline: DiffusionPipeline) -> None:
    pipeline.vae.enable_slicing()


def _slice_attention(pipeline: DiffusionPipeline) -> None:
    pipeline.enable_attention_slicing(1)


def _fuse_projections(pipeline: DiffusionPipeline) -> None:
    pipeline.fuse_qkv_projections()


def _enable_freeu(pipeline: DiffusionPipeline) -> None:
    pipeline.enable_freeu(s1=0.9, s2=0.2, b1=1.2, b2=1.4)


def _broadcast_attention(pipeline: DiffusionPipeline) -> None:
    """Computes attention only in every second of the middle steps."""
    from diffusers import PyramidAttentionBroadcastConfig

    config = PyramidAttentionBroadcastConfig(
        spatial_attention_block_skip_range=2,
        spatial_attention_timestep_skip_range=(100, 800),
        current_timestep_callback=lambda: pipeline.current_timestep,
    )
    pipeline.transformer.enable_cache(config)


PIPELINES = (
    SmallPipeline(
        "stable-diffusion-tiled-vae",
        "option",
        "StableDiffusionPipeline",
        stable_diffusion_components,
        short_run,
        extend=_tile_image_autoencoder,
    ),
    SmallPipeline(
        "wan-tiled-vae",
        "option",
        "WanPipeline",
        wan_components,
        lambda: video_run(height=16, width=32, num_frames=5),
        extend=_tile_video_autoencoder,
    ),
    SmallPipeline(
        "stable-diffusion-sliced-vae",
        "option",
        "StableDiffusionPipeline",
        stable_diffusion_components,
        lambda: short_run(num_images_per_prompt=2),
        extend=_slice_autoencoder,
    ),
    SmallPipeline(
        "stable-diffusion-sliced-attention",
        "option",
        "StableDiffusionPipeline",
        stable_diffusion_components,
        short_run,
        extend=_slice_attention,
    ),
    SmallPipeline(
        "stable-diffusion-fused-projections",
        "option",
        "StableDiffusionPipeline",
        stable_diffusion_components,
        short_run,
        extend=_fuse_projections,
    ),
    SmallPipeline(
        "stable-diffusion-freeu",
        "option",
        "StableDiffusionPipeline",
        stable_diffusion_components,
        short_run,
        extend=_enable_freeu,
    ),
    SmallPipeline(
        "stable-diffusion-xl-first-half",
        "option",
        "StableDiffusionXLPipeline",
        stable_diffusion_xl_components,
        lambda: short_run(num_inference_steps=4, denoising_end=0.5, output_type="latent"),
    ),
    SmallPipeline(
        "cogvideox-attention-broadcast",
        "option",
        "CogVideoXPipeline",
        cogvideox_components,
        lambda: video_run(num_inference_steps=6),
        extend=_broadcast_attention,
    ),
)
