"""Qwen-Image: a vision-language model as text encoder and a multimodal diffusion transformer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import qwen_image_autoencoder
from .inputs import short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .text_encoders import TEXT_WIDTH, qwen2_5_vl
from .tokenizers import qwen_tokenizer

if TYPE_CHECKING:
    from diffusers import ModelMixin


def qwen_image_components(**changes: Any) -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler

    return {
        "scheduler": FlowMatchEulerDiscreteScheduler(),
        "vae": qwen_image_autoencoder(),
        "text_encoder": qwen2_5_vl(),
        "tokenizer": qwen_tokenizer(),
        "transformer": qwen_image_transformer(),
        **changes,
    }


def qwen_image_transformer(**changes: Any) -> ModelMixin:
    from diffusers import QwenImageTransformer2DModel

    sizes: dict[str, Any] = {
        "patch_size": 2,
        "in_channels": 16,
        "out_channels": 4,
        "num_layers": 2,
        "attention_head_dim": 16,
        "num_attention_heads": 2,
        "joint_attention_dim": TEXT_WIDTH,
        "axes_dims_rope": (8, 4, 4),
    }
    return QwenImageTransformer2DModel(**{**sizes, **changes})


def guided_run(**changes: Any) -> Arguments:
    """A run with true guidance, which calls the transformer once for each of the two prompts."""
    return short_run(negative_prompt="blurred", true_cfg_scale=4.0, height=32, width=32, **changes)


PIPELINES = (
    SmallPipeline("qwen-image", "mmdit", "QwenImagePipeline", qwen_image_components, guided_run),
)
