"""Cosmos, whose pipelines insist on a safety checker, and HunyuanVideo 1.5 with its guider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import wan_autoencoder
from .inputs import seeded_image, short_run
from .small_pipeline import Components, SmallPipeline
from .text_encoders import TEXT_WIDTH, qwen2_5_vl, qwen2_5_vl_text_model, t5_encoder
from .text_tokenizers import qwen_tokenizer, shorten_texts, t5_tokenizer
from .wan import video_run

if TYPE_CHECKING:
    from diffusers import ModelMixin


class PermissiveSafetyChecker:
    """Stands in for Cosmos' guardrail, which is several billion parameters."""

    def to(self, device: object) -> None:
        """Nothing to move."""

    def check_text_safety(self, prompt: str) -> bool:
        return True

    def check_video_safety(self, video: Any) -> Any:
        return video


def _cosmos_components() -> Components:
    from diffusers import AutoencoderKLCosmos, EDMEulerScheduler

    autoencoder = AutoencoderKLCosmos(
        latent_channels=4,
        encoder_block_out_channels=(8, 8, 8, 8),
        decode_block_out_channels=(8, 8, 8, 8),
        attention_resolutions=(8,),
        resolution=64,
        num_layers=1,
        spatial_compression_ratio=4,
        temporal_compression_ratio=4,
    )
    return {
        "transformer": _cosmos_transformer(extra_pos_embed_type="learnable"),
        "vae": autoencoder,
        "scheduler": EDMEulerScheduler(sigma_max=80, sigma_data=0.5, final_sigmas_type="sigma_min"),
        "text_encoder": t5_encoder(),
        "tokenizer": t5_tokenizer(),
        "safety_checker": PermissiveSafetyChecker(),
    }


def _cosmos_transformer(**changes: Any) -> ModelMixin:
    from diffusers import CosmosTransformer3DModel

    sizes: dict[str, Any] = {
        "in_channels": 4,
        "out_channels": 4,
        "num_attention_heads": 2,
        "attention_head_dim": 16,
        "num_layers": 2,
        "mlp_ratio": 2,
        "text_embed_dim": TEXT_WIDTH,
        "adaln_lora_dim": 4,
        "max_size": (4, 32, 32),
        # Adding the padding mask as a channel needs torchvision.
        "concat_padding_mask": False,
    }
    return CosmosTransformer3DModel(**{**sizes, **changes})


def _cosmos2_components(**transformer_changes: Any) -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler

    sizes = {"in_channels": 16, "out_channels": 16, "extra_pos_embed_type": None}
    return {
        **_cosmos_components(),
        "transformer": _cosmos_transformer(**{**sizes, **transformer_changes}),
        "vae": wan_autoencoder(),
        "scheduler": FlowMatchEulerDiscreteScheduler(use_karras_sigmas=True),
    }


def _cosmos25_components() -> Components:
    from diffusers import UniPCMultistepScheduler

    layers = 2
    transformer = _cosmos_transformer(
        in_channels=17,
        out_channels=16,
        extra_pos_embed_type=None,
        use_crossattn_projection=True,
        crossattn_proj_in_channels=layers * TEXT_WIDTH,
        encoder_hidden_states_channels=TEXT_WIDTH,
    )
    return {
        **_cosmos_components(),
        "transformer": transformer,
        "vae": wan_autoencoder(),
        "scheduler": UniPCMultistepScheduler(use_flow_sigmas=True, prediction_type="flow_prediction"),
        "text_encoder": qwen2_5_vl(num_hidden_layers=layers),
        "tokenizer": qwen_tokenizer(),
    }


def _hunyuan_video_15_components() -> Components:
    from diffusers import (
        AutoencoderKLHunyuanVideo15,
        FlowMatchEulerDiscreteScheduler,
        HunyuanVideo15Transformer3DModel,
    )
    from diffusers.guiders import ClassifierFreeGuidance
    from transformers import ByT5Tokenizer

    transformer = HunyuanVideo15Transformer3DModel(
        in_channels=9,
        out_channels=4,
        num_attention_heads=2,
        attention_head_dim=8,
        num_layers=1,
        num_refiner_layers=1,
        text_embed_dim=TEXT_WIDTH,
        text_embed_2_dim=TEXT_WIDTH,
        image_embed_dim=12,
        rope_axes_dim=(2, 2, 4),
        target_size=16,
        task_type="t2v",
    )
    autoencoder = AutoencoderKLHunyuanVideo15(
        latent_channels=4,
        block_out_channels=(16, 16),
        layers_per_block=1,
        spatial_compression_ratio=4,
        temporal_compression_ratio=2,
        downsample_match_channel=False,
        upsample_match_channel=False,
    )
    return {
        "transformer": transformer,
        "vae": autoencoder,
        "scheduler": FlowMatchEulerDiscreteScheduler(shift=7.0),
        "text_encoder": qwen2_5_vl_text_model(num_hidden_layers=3),
        "tokenizer": qwen_tokenizer(),
        "text_encoder_2": t5_encoder(),
        "tokenizer_2": ByT5Tokenizer(),
        "guider": ClassifierFreeGuidance(guidance_scale=6.0),
    }


PIPELINES = (
    SmallPipeline(
        "cosmos-text-to-world",
        "video",
        "CosmosTextToWorldPipeline",
        _cosmos_components,
        lambda: video_run(height=32, width=32),
    ),
    SmallPipeline(
        "cosmos2-text-to-image",
        "dit",
        "Cosmos2TextToImagePipeline",
        _cosmos2_components,
        lambda: short_run(height=32, width=32),
    ),
    SmallPipeline(
        "cosmos2-video-to-world",
        "video",
        "Cosmos2VideoToWorldPipeline",
        lambda: _cosmos2_components(in_channels=17),
        lambda: video_run(image=seeded_image(32), height=32, width=32),
    ),
    SmallPipeline(
        "cosmos2.5-predict",
        "video",
        "Cosmos2_5_PredictBasePipeline",
        _cosmos25_components,
        lambda: video_run(height=32, width=32, max_sequence_length=64),
    ),
    SmallPipeline(
        "hunyuan-video-1.5",
        "video",
        "HunyuanVideo15Pipeline",
        _hunyuan_video_15_components,
        video_run,
        extend=shorten_texts,
    ),
)
