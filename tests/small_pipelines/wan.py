"""Wan and the video pipelines built on its transformer: SkyReels V2, VACE, Lucy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import wan_autoencoder
from .image_encoders import clip_image_encoder, clip_image_processor
from .inputs import seeded_image, seeded_video, short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .text_encoders import TEXT_WIDTH, umt5_encoder
from .text_tokenizers import t5_tokenizer

if TYPE_CHECKING:
    from diffusers import ModelMixin, SchedulerMixin


def video_run(**changes: Any) -> Arguments:
    sizes: Arguments = {"height": 16, "width": 16, "num_frames": 9}
    return short_run(**{**sizes, **changes})


def wan_components(**changes: Any) -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler

    return {
        "transformer": _wan_transformer(),
        "vae": wan_autoencoder(),
        "scheduler": FlowMatchEulerDiscreteScheduler(shift=7.0),
        "text_encoder": umt5_encoder(),
        "tokenizer": t5_tokenizer(),
        **changes,
    }


LATENT_CHANNELS = 16

TRANSFORMER_SIZES: dict[str, Any] = {
    "patch_size": (1, 2, 2),
    "num_attention_heads": 2,
    "attention_head_dim": 12,
    "in_channels": LATENT_CHANNELS,
    "out_channels": LATENT_CHANNELS,
    "text_dim": TEXT_WIDTH,
    "freq_dim": 32,
    "ffn_dim": 32,
    "num_layers": 2,
    "cross_attn_norm": True,
    "rope_max_seq_len": 32,
}

# Latents of the first frame, and one mask channel for each frame in a latent frame.
IMAGE_TO_VIDEO_CHANNELS = 2 * LATENT_CHANNELS + 4


def _wan_transformer(**changes: Any) -> ModelMixin:
    from diffusers import WanTransformer3DModel

    return WanTransformer3DModel(**{**TRANSFORMER_SIZES, **changes})


def _two_transformers(**changes: Any) -> Components:
    """Wan 2.2: one transformer for the noisy steps and another for the rest."""
    return wan_components(
        transformer=_wan_transformer(**changes),
        transformer_2=_wan_transformer(**changes),
        boundary_ratio=0.875,
    )


def _image_to_video_components() -> Components:
    return wan_components(
        transformer=_wan_transformer(in_channels=IMAGE_TO_VIDEO_CHANNELS, image_dim=TEXT_WIDTH),
        image_encoder=clip_image_encoder(),
        image_processor=clip_image_processor(),
    )


def _vace_components() -> Components:
    from diffusers import WanVACETransformer3DModel

    pixels_per_latent = 8 * 8
    transformer = WanVACETransformer3DModel(
        **TRANSFORMER_SIZES,
        vace_layers=[0],
        vace_in_channels=2 * LATENT_CHANNELS + pixels_per_latent,
    )
    return wan_components(transformer=transformer)


def _animate_components() -> Components:
    from diffusers import WanAnimateTransformer3DModel

    motion_channels = {str(2**power): 4 for power in range(2, 11)}
    transformer = WanAnimateTransformer3DModel(
        **{**TRANSFORMER_SIZES, "in_channels": IMAGE_TO_VIDEO_CHANNELS},
        image_dim=TEXT_WIDTH,
        motion_encoder_channel_sizes=motion_channels,
        motion_encoder_size=FACE_SIZE,
        motion_style_dim=8,
        motion_dim=4,
        motion_encoder_dim=8,
        face_encoder_hidden_dim=8,
        face_encoder_num_heads=2,
        inject_face_latents_blocks=2,
    )
    return wan_components(
        transformer=transformer, image_encoder=clip_image_encoder(), image_processor=clip_image_processor()
    )


FACE_SIZE = 16


def _animate_run() -> Arguments:
    """The pose of a figure and its face, in two segments."""
    return video_run(
        image=seeded_image(16),
        pose_video=seeded_video(9, 16),
        face_video=seeded_video(9, FACE_SIZE),
        num_frames=None,
        segment_frame_length=5,
    )


def _skyreels_components(**transformer_changes: Any) -> Components:
    from diffusers import SkyReelsV2Transformer3DModel

    return wan_components(
        transformer=SkyReelsV2Transformer3DModel(**{**TRANSFORMER_SIZES, **transformer_changes}),
        scheduler=_unipc_scheduler(),
    )


def _skyreels_image_to_video_components() -> Components:
    return {
        **_skyreels_components(in_channels=IMAGE_TO_VIDEO_CHANNELS, image_dim=TEXT_WIDTH),
        "image_encoder": clip_image_encoder(),
        "image_processor": clip_image_processor(),
    }


def _unipc_scheduler() -> SchedulerMixin:
    from diffusers import UniPCMultistepScheduler

    return UniPCMultistepScheduler(flow_shift=8.0, use_flow_sigmas=True)


PIPELINES = (
    SmallPipeline("wan-2.1", "video", "WanPipeline", wan_components, video_run),
    SmallPipeline("wan-2.2", "video", "WanPipeline", _two_transformers, video_run),
    SmallPipeline(
        "wan-2.1-image-to-video",
        "video",
        "WanImageToVideoPipeline",
        _image_to_video_components,
        lambda: video_run(image=seeded_image(16)),
    ),
    SmallPipeline(
        "wan-2.2-image-to-video",
        "video",
        "WanImageToVideoPipeline",
        lambda: _two_transformers(in_channels=IMAGE_TO_VIDEO_CHANNELS),
        lambda: video_run(image=seeded_image(16)),
    ),
    SmallPipeline(
        "wan-video-to-video",
        "video",
        "WanVideoToVideoPipeline",
        wan_components,
        lambda: video_run(video=seeded_video(9, 16), num_frames=None, num_inference_steps=3, strength=0.7),
    ),
    SmallPipeline(
        "wan-vace",
        "video",
        "WanVACEPipeline",
        _vace_components,
        lambda: video_run(video=seeded_video(9, 16)),
    ),
    SmallPipeline("wan-animate", "video", "WanAnimatePipeline", _animate_components, _animate_run),
    SmallPipeline(
        "lucy-edit",
        "video",
        "LucyEditPipeline",
        lambda: wan_components(transformer=_wan_transformer(in_channels=2 * LATENT_CHANNELS)),
        lambda: video_run(video=seeded_video(9, 16)),
    ),
    SmallPipeline("skyreels-v2", "video", "SkyReelsV2Pipeline", _skyreels_components, video_run),
    SmallPipeline(
        "skyreels-v2-diffusion-forcing",
        "video",
        "SkyReelsV2DiffusionForcingPipeline",
        lambda: _skyreels_components(inject_sample_info=True),
        video_run,
    ),
    SmallPipeline(
        "skyreels-v2-image-to-video",
        "video",
        "SkyReelsV2ImageToVideoPipeline",
        _skyreels_image_to_video_components,
        lambda: video_run(image=seeded_image(16)),
    ),
)
