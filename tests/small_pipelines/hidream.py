"""HiDream: four text encoders and a transformer with a mixture of experts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .autoencoders import flow_image_autoencoder
from .inputs import short_run
from .small_pipeline import Components, SmallPipeline
from .text_encoders import (
    TEXT_WIDTH,
    clip_text_encoder_with_projection,
    llama_for_causal_lm,
    t5_encoder,
)
from .text_tokenizers import clip_tokenizer, llama_tokenizer, t5_tokenizer

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline


def _components() -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler, HiDreamImageTransformer2DModel

    transformer = HiDreamImageTransformer2DModel(
        patch_size=2,
        in_channels=4,
        out_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=8,
        num_attention_heads=4,
        caption_channels=[TEXT_WIDTH, TEXT_WIDTH],
        text_emb_dim=2 * TEXT_WIDTH,
        num_routed_experts=4,
        num_activated_experts=2,
        axes_dims_rope=(4, 2, 2),
        max_resolution=(32, 32),
        llama_layers=(0, 1),
    )
    return {
        "scheduler": FlowMatchEulerDiscreteScheduler(),
        "vae": flow_image_autoencoder(levels=1),
        "text_encoder": clip_text_encoder_with_projection(max_position_embeddings=128),
        "tokenizer": clip_tokenizer(),
        "text_encoder_2": clip_text_encoder_with_projection(max_position_embeddings=128),
        "tokenizer_2": clip_tokenizer(),
        "text_encoder_3": t5_encoder(),
        "tokenizer_3": t5_tokenizer(),
        "text_encoder_4": llama_for_causal_lm(),
        "tokenizer_4": llama_tokenizer(),
        "transformer": transformer,
    }


def _shrink_default_area(pipeline: DiffusionPipeline) -> None:
    """Whatever size is asked for, the pipeline makes an image of its own default area."""
    pipeline.default_sample_size = 32


PIPELINES = (
    SmallPipeline(
        "hidream",
        "mmdit",
        "HiDreamImagePipeline",
        _components,
        lambda: short_run(height=32, width=32),
        extend=_shrink_default_area,
    ),
)
