"""Video from UNets: AnimateDiff, Stable Video Diffusion, ModelScope and I2VGen-XL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .controlnets import controlnet_model
from .image_encoders import clip_image_encoder, clip_image_processor
from .inputs import seeded_image, seeded_video, short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .stable_diffusion import (
    BETAS,
    ddim_scheduler,
    latent_diffusion_components,
    stable_diffusion_components,
)
from .stable_diffusion_xl import stable_diffusion_xl_components
from .text_encoders import TEXT_WIDTH

if TYPE_CHECKING:
    from diffusers import ModelMixin


def _animatediff_components() -> Components:
    return latent_diffusion_components(
        motion_adapter=_motion_adapter(), scheduler=ddim_scheduler(beta_schedule="linear")
    )


def _motion_adapter(**changes: Any) -> ModelMixin:
    from diffusers import MotionAdapter

    return MotionAdapter(
        block_out_channels=(8, 16),
        motion_layers_per_block=1,
        motion_norm_num_groups=2,
        motion_num_attention_heads=2,
        **changes,
    )


def _stable_video_components() -> Components:
    """Its UNet's norms always have 32 groups, so it cannot be as narrow as the others."""
    from diffusers import (
        AutoencoderKLTemporalDecoder,
        EulerDiscreteScheduler,
        UNetSpatioTemporalConditionModel,
    )

    unet = UNetSpatioTemporalConditionModel(
        block_out_channels=(32, 64),
        layers_per_block=1,
        sample_size=16,
        down_block_types=("CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"),
        up_block_types=("UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"),
        cross_attention_dim=TEXT_WIDTH,
        num_attention_heads=4,
        addition_time_embed_dim=8,
        projection_class_embeddings_input_dim=3 * 8,
    )
    autoencoder = AutoencoderKLTemporalDecoder(
        block_out_channels=(32, 32), down_block_types=("DownEncoderBlock2D",) * 2
    )
    scheduler = EulerDiscreteScheduler(
        **BETAS,
        prediction_type="v_prediction",
        sigma_max=700.0,
        sigma_min=0.002,
        timestep_spacing="leading",
        timestep_type="continuous",
        use_karras_sigmas=True,
    )
    return {
        "unet": unet,
        "vae": autoencoder,
        "scheduler": scheduler,
        # The pipeline resizes the image itself, always to this size.
        "image_encoder": clip_image_encoder(image_size=224, patch_size=56),
        "feature_extractor": clip_image_processor(),
    }


def _stable_video_arguments() -> Arguments:
    return short_run(prompt=None, image=seeded_image(32), height=32, width=32, num_frames=3, decode_chunk_size=2)


THREE_DIMENSIONAL_SIZES: dict[str, Any] = {
    "block_out_channels": (4, 8),
    "layers_per_block": 1,
    "sample_size": 16,
    "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"),
    "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D"),
    "cross_attention_dim": TEXT_WIDTH,
    "attention_head_dim": 4,
    "norm_num_groups": 2,
}


def _text_to_video_components() -> Components:
    from diffusers import UNet3DConditionModel

    return latent_diffusion_components(unet=UNet3DConditionModel(**THREE_DIMENSIONAL_SIZES))


def _image_to_video_components() -> Components:
    from diffusers import I2VGenXLUNet

    return latent_diffusion_components(
        unet=I2VGenXLUNet(**THREE_DIMENSIONAL_SIZES),
        image_encoder=clip_image_encoder(),
        feature_extractor=clip_image_processor(),
    )


def _image_to_video_arguments() -> Arguments:
    """Skipping the text encoder's last layer, the default, needs an older transformers."""
    arguments = short_run(image=seeded_image(32), height=32, width=32, num_frames=3)
    return {**arguments, "clip_skip": None}


PIPELINES = (
    SmallPipeline(
        "animatediff",
        "video",
        "AnimateDiffPipeline",
        _animatediff_components,
        lambda: short_run(num_frames=3),
    ),
    SmallPipeline(
        "animatediff-video-to-video",
        "video",
        "AnimateDiffVideoToVideoPipeline",
        _animatediff_components,
        lambda: short_run(video=seeded_video(3, 32), num_inference_steps=3, strength=0.7),
    ),
    SmallPipeline(
        "stable-video-diffusion",
        "video",
        "StableVideoDiffusionPipeline",
        _stable_video_components,
        _stable_video_arguments,
    ),
    SmallPipeline(
        "text-to-video",
        "video",
        "TextToVideoSDPipeline",
        _text_to_video_components,
        lambda: short_run(num_frames=3),
    ),
    SmallPipeline(
        "video-to-video",
        "video",
        "VideoToVideoSDPipeline",
        _text_to_video_components,
        lambda: short_run(video=seeded_video(3, 32), num_inference_steps=3, strength=0.7),
    ),
    SmallPipeline(
        "i2vgen-xl",
        "video",
        "I2VGenXLPipeline",
        _image_to_video_components,
        _image_to_video_arguments,
    ),
    SmallPipeline(
        "text-to-video-zero",
        "video",
        "TextToVideoZeroPipeline",
        stable_diffusion_components,
        lambda: short_run(video_length=2, t0=0, t1=1),
    ),
    SmallPipeline(
        "animatediff-controlnet",
        "video",
        "AnimateDiffControlNetPipeline",
        lambda: {**_animatediff_components(), "controlnet": controlnet_model()},
        lambda: short_run(conditioning_frames=seeded_video(3, 32), num_frames=3, height=32, width=32),
    ),
    SmallPipeline(
        "animatediff-sdxl",
        "video",
        "AnimateDiffSDXLPipeline",
        lambda: stable_diffusion_xl_components(motion_adapter=_motion_adapter(use_motion_mid_block=False)),
        lambda: short_run(num_frames=3),
    ),
)
