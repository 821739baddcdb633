"""Pixel-space UNets without a prompt: DDPM, DDIM, consistency models, and super-resolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .inputs import seeded_image, short_run
from .small_pipeline import Components, SmallPipeline

if TYPE_CHECKING:
    from diffusers import ModelMixin


def _unet(**changes: Any) -> ModelMixin:
    from diffusers import UNet2DModel

    sizes: dict[str, Any] = {
        "sample_size": 16,
        "in_channels": 3,
        "out_channels": 3,
        "block_out_channels": (8, 16),
        "layers_per_block": 1,
        "norm_num_groups": 4,
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
    }
    return UNet2DModel(**{**sizes, **changes})


def _with_scheduler(class_name: str) -> Components:
    import diffusers

    return {"unet": _unet(), "scheduler": getattr(diffusers, class_name)()}


def _consistency_components() -> Components:
    from diffusers import CMStochasticIterativeScheduler

    unet = _unet(num_class_embeds=10, resnet_time_scale_shift="scale_shift")
    return {"unet": unet, "scheduler": CMStochasticIterativeScheduler(num_train_timesteps=40)}


def _super_resolution_components() -> Components:
    from diffusers import DDIMScheduler, VQModel

    autoencoder = VQModel(
        block_out_channels=(8, 16),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        norm_num_groups=4,
        num_vq_embeddings=12,
    )
    return {"unet": _unet(in_channels=6), "vqvae": autoencoder, "scheduler": DDIMScheduler()}


PIPELINES = (
    SmallPipeline(
        "ddpm",
        "unet",
        "DDPMPipeline",
        lambda: _with_scheduler("DDPMScheduler"),
        lambda: short_run(prompt=None),
    ),
    SmallPipeline(
        "ddim",
        "unet",
        "DDIMPipeline",
        lambda: _with_scheduler("DDIMScheduler"),
        lambda: short_run(prompt=None, batch_size=2),
    ),
    SmallPipeline(
        "consistency-model",
        "unet",
        "ConsistencyModelPipeline",
        _consistency_components,
        lambda: short_run(prompt=None, class_labels=1),
    ),
    SmallPipeline(
        "latent-diffusion-super-resolution",
        "upscale",
        "LDMSuperResolutionPipeline",
        _super_resolution_components,
        lambda: short_run(prompt=None, image=seeded_image(32)),
    ),
)
