"""Tiny autoencoders, from pixels to latents and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffusers import ModelMixin


def image_autoencoder(levels: int = 2, latent_channels: int = 4, **changes: Any) -> ModelMixin:
    """An AutoencoderKL whose latents are 2**(levels - 1) times smaller than the image."""
    from diffusers import AutoencoderKL

    sizes: dict[str, Any] = {
        "block_out_channels": (8, 16, 16, 16, 16)[:levels],
        "down_block_types": ("DownEncoderBlock2D",) * levels,
        "up_block_types": ("UpDecoderBlock2D",) * levels,
        "latent_channels": latent_channels,
        "norm_num_groups": 4,
        "sample_size": 32,
    }
    return AutoencoderKL(**{**sizes, **changes})


def flow_image_autoencoder(levels: int = 2, latent_channels: int = 4, **changes: Any) -> ModelMixin:
    """An AutoencoderKL as SD3 and Flux use it: shifted latents and no quantisation convolutions."""
    flow_settings = {
        "use_quant_conv": False,
        "use_post_quant_conv": False,
        "shift_factor": 0.0609,
        "scaling_factor": 1.5035,
    }
    return image_autoencoder(levels, latent_channels, **{**flow_settings, **changes})


def deep_compression_autoencoder() -> ModelMixin:
    """An AutoencoderDC with one convolutional and one linear-attention level."""
    from diffusers import AutoencoderDC

    return AutoencoderDC(
        latent_channels=4,
        attention_head_dim=2,
        encoder_block_types=("ResBlock", "EfficientViTBlock"),
        decoder_block_types=("ResBlock", "EfficientViTBlock"),
        encoder_block_out_channels=(8, 8),
        decoder_block_out_channels=(8, 8),
        encoder_qkv_multiscales=((), (5,)),
        decoder_qkv_multiscales=((), (5,)),
        encoder_layers_per_block=(1, 1),
        decoder_layers_per_block=(1, 1),
        downsample_block_type="conv",
        upsample_block_type="interpolate",
        scaling_factor=0.41407,
    )


def wan_autoencoder(**changes: Any) -> ModelMixin:
    from diffusers import AutoencoderKLWan

    sizes: dict[str, Any] = {
        "base_dim": 4,
        "z_dim": 16,
        "dim_mult": [1, 1, 1, 1],
        "num_res_blocks": 1,
        "temperal_downsample": [False, True, True],
    }
    return AutoencoderKLWan(**{**sizes, **changes})


def qwen_image_autoencoder() -> ModelMixin:
    from diffusers import AutoencoderKLQwenImage

    latent_channels = 4
    return AutoencoderKLQwenImage(
        base_dim=8,
        z_dim=latent_channels,
        dim_mult=[1, 2, 4],
        num_res_blocks=1,
        temperal_downsample=[False, True],
        latents_mean=[0.0] * latent_channels,
        latents_std=[1.0] * latent_channels,
    )


def cogvideox_autoencoder() -> ModelMixin:
    from diffusers import AutoencoderKLCogVideoX

    return AutoencoderKLCogVideoX(
        block_out_channels=(8, 8, 8, 8),
        latent_channels=4,
        layers_per_block=1,
        norm_num_groups=2,
        temporal_compression_ratio=4,
    )


def hunyuan_video_autoencoder() -> ModelMixin:
    from diffusers import AutoencoderKLHunyuanVideo

    return AutoencoderKLHunyuanVideo(
        latent_channels=4,
        block_out_channels=(8, 8, 8, 8),
        layers_per_block=1,
        norm_num_groups=4,
    )
