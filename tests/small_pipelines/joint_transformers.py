"""Text-to-image transformers that attend to text and image tokens together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import flow_image_autoencoder, image_autoencoder
from .image_inputs import image_run
from .inputs import seeded_image, short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .text_encoders import (
    TEXT_WIDTH,
    gemma2_model,
    glm_model,
    qwen2_5_vl,
    qwen3_model,
    t5_encoder,
    umt5_encoder,
)
from .text_tokenizers import gemma_tokenizer, llama_tokenizer, qwen_tokenizer, shorten_texts, t5_tokenizer

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline, SchedulerMixin


def _image_run(**changes: Any) -> Arguments:
    return short_run(height=32, width=32, **changes)


def _flow_scheduler(**settings: Any) -> SchedulerMixin:
    from diffusers import FlowMatchEulerDiscreteScheduler

    return FlowMatchEulerDiscreteScheduler(**settings)


# Latents of four channels, packed two by two.
FLUX_LIKE_SIZES: dict[str, Any] = {
    "in_channels": 16,
    "num_layers": 1,
    "num_single_layers": 1,
    "attention_head_dim": 16,
    "num_attention_heads": 2,
    "joint_attention_dim": TEXT_WIDTH,
    "axes_dims_rope": (4, 4, 8),
}


def _chroma_components() -> Components:
    from diffusers import ChromaTransformer2DModel

    transformer = ChromaTransformer2DModel(
        **FLUX_LIKE_SIZES,
        approximator_num_channels=16,
        approximator_hidden_dim=32,
        approximator_layers=1,
    )
    return {
        "transformer": transformer,
        "vae": flow_image_autoencoder(),
        "scheduler": _flow_scheduler(),
        "text_encoder": t5_encoder(),
        "tokenizer": t5_tokenizer(),
    }


def _bria_components() -> Components:
    from diffusers import BriaTransformer2DModel

    return {
        "transformer": BriaTransformer2DModel(**FLUX_LIKE_SIZES),
        "vae": image_autoencoder(shift_factor=0.0),
        "scheduler": _flow_scheduler(),
        "text_encoder": t5_encoder(),
        "tokenizer": t5_tokenizer(),
    }


def _ovis_components() -> Components:
    from diffusers import OvisImageTransformer2DModel

    return {
        "transformer": OvisImageTransformer2DModel(**FLUX_LIKE_SIZES, out_channels=16),
        "vae": flow_image_autoencoder(),
        "scheduler": _flow_scheduler(),
        "text_encoder": qwen3_model(),
        "tokenizer": qwen_tokenizer(),
    }


def _longcat_components() -> Components:
    from diffusers import LongCatImageTransformer2DModel

    transformer = LongCatImageTransformer2DModel(
        **{**FLUX_LIKE_SIZES, "in_channels": 64}, pooled_projection_dim=TEXT_WIDTH
    )
    return {
        "transformer": transformer,
        "vae": flow_image_autoencoder(latent_channels=16),
        "scheduler": _flow_scheduler(),
        "text_encoder": qwen2_5_vl(),
        "tokenizer": qwen_tokenizer(),
        "text_processor": None,
    }


def _aura_flow_components() -> Components:
    from diffusers import AuraFlowTransformer2DModel

    transformer = AuraFlowTransformer2DModel(
        sample_size=16,
        num_mmdit_layers=1,
        num_single_dit_layers=1,
        attention_head_dim=8,
        num_attention_heads=4,
        joint_attention_dim=TEXT_WIDTH,
        caption_projection_dim=32,
        pos_embed_max_size=256,
    )
    return {
        "transformer": transformer,
        "vae": image_autoencoder(),
        "scheduler": _flow_scheduler(),
        "text_encoder": umt5_encoder(),
        "tokenizer": llama_tokenizer(),
    }


def _cogview_components(transformer_class: str, scheduler: SchedulerMixin, in_channels: int = 4) -> Components:
    import diffusers

    transformer = getattr(diffusers, transformer_class)(
        in_channels=in_channels,
        out_channels=4,
        num_layers=1,
        attention_head_dim=8,
        num_attention_heads=4,
        text_embed_dim=TEXT_WIDTH,
        time_embed_dim=8,
        condition_dim=4,
        pos_embed_max_size=16,
        sample_size=16,
    )
    return {"transformer": transformer, "vae": image_autoencoder(), "scheduler": scheduler}


def _cogview3_components() -> Components:
    from diffusers import CogVideoXDDIMScheduler

    return {
        **_cogview_components("CogView3PlusTransformer2DModel", CogVideoXDDIMScheduler()),
        "text_encoder": t5_encoder(),
        "tokenizer": t5_tokenizer(),
    }


def _cogview4_components(in_channels: int = 4) -> Components:
    scheduler = _flow_scheduler(base_shift=0.25, max_shift=0.75, use_dynamic_shifting=True, time_shift_type="linear")
    return {
        **_cogview_components("CogView4Transformer2DModel", scheduler, in_channels),
        "text_encoder": glm_model(),
        "tokenizer": llama_tokenizer(),
    }


def _lumina2_components() -> Components:
    from diffusers import Lumina2Transformer2DModel

    transformer = Lumina2Transformer2DModel(
        sample_size=16,
        in_channels=4,
        hidden_size=32,
        num_layers=1,
        num_refiner_layers=1,
        num_attention_heads=2,
        num_kv_heads=1,
        multiple_of=16,
        axes_dim_rope=(8, 4, 4),
        axes_lens=(512, 64, 64),
        cap_feat_dim=TEXT_WIDTH,
    )
    return {
        "transformer": transformer,
        "vae": flow_image_autoencoder(levels=4),
        "scheduler": _flow_scheduler(),
        "text_encoder": gemma2_model(),
        "tokenizer": gemma_tokenizer(),
    }


def _z_image_components() -> Components:
    from diffusers import ZImageTransformer2DModel

    transformer = ZImageTransformer2DModel(
        dim=32,
        n_layers=1,
        n_refiner_layers=1,
        n_heads=2,
        n_kv_heads=2,
        cap_feat_dim=TEXT_WIDTH,
        axes_dims=[8, 4, 4],
        axes_lens=[512, 64, 64],
    )
    return {
        "transformer": transformer,
        "vae": flow_image_autoencoder(latent_channels=16),
        "scheduler": _flow_scheduler(),
        "text_encoder": qwen3_model(),
        "tokenizer": qwen_tokenizer(),
    }


def _fill_padding_tokens(pipeline: DiffusionPipeline) -> None:
    """The model leaves these weights uninitialised; memory may hold NaN."""
    import torch

    for name in ("x_pad_token", "cap_pad_token"):
        torch.nn.init.normal_(getattr(pipeline.transformer, name), std=0.02)


def _hunyuan_image_components() -> Components:
    from diffusers import AutoencoderKLHunyuanImage, HunyuanImageTransformer2DModel
    from transformers import ByT5Tokenizer

    transformer = HunyuanImageTransformer2DModel(
        in_channels=4,
        out_channels=4,
        num_attention_heads=2,
        attention_head_dim=16,
        num_layers=1,
        num_single_layers=1,
        num_refiner_layers=1,
        text_embed_dim=TEXT_WIDTH,
        text_embed_2_dim=TEXT_WIDTH,
        rope_axes_dim=(8, 8),
    )
    autoencoder = AutoencoderKLHunyuanImage(
        in_channels=3,
        out_channels=3,
        latent_channels=4,
        block_out_channels=(32, 32, 32, 32),
        layers_per_block=1,
        spatial_compression_ratio=8,
        sample_size=64,
        scaling_factor=0.476986,
    )
    return {
        "transformer": transformer,
        "vae": autoencoder,
        "scheduler": _flow_scheduler(shift=7.0),
        "text_encoder": qwen2_5_vl(num_hidden_layers=3),
        "tokenizer": qwen_tokenizer(),
        "text_encoder_2": t5_encoder(),
        "tokenizer_2": ByT5Tokenizer(),
    }


PIPELINES = (
    SmallPipeline("chroma", "mmdit", "ChromaPipeline", _chroma_components, _image_run),
    SmallPipeline(
        "chroma-img2img",
        "img2img",
        "ChromaImg2ImgPipeline",
        _chroma_components,
        lambda: image_run(height=32, width=32),
    ),
    SmallPipeline("bria", "mmdit", "BriaPipeline", _bria_components, _image_run),
    SmallPipeline("ovis-image", "mmdit", "OvisImagePipeline", _ovis_components, _image_run),
    SmallPipeline(
        "longcat-image",
        "mmdit",
        "LongCatImagePipeline",
        _longcat_components,
        lambda: _image_run(enable_prompt_rewrite=False),
    ),
    SmallPipeline("aura-flow", "mmdit", "AuraFlowPipeline", _aura_flow_components, _image_run),
    SmallPipeline("cogview3-plus", "mmdit", "CogView3PlusPipeline", _cogview3_components, _image_run),
    SmallPipeline("cogview4", "mmdit", "CogView4Pipeline", _cogview4_components, _image_run),
    SmallPipeline("lumina2", "dit", "Lumina2Pipeline", _lumina2_components, _image_run),
    SmallPipeline(
        "z-image",
        "dit",
        "ZImagePipeline",
        _z_image_components,
        _image_run,
        extend=_fill_padding_tokens,
    ),
    SmallPipeline(
        "hunyuan-image",
        "mmdit",
        "HunyuanImagePipeline",
        _hunyuan_image_components,
        _image_run,
        extend=shorten_texts,
    ),
    SmallPipeline(
        "z-image-img2img",
        "img2img",
        "ZImageImg2ImgPipeline",
        _z_image_components,
        lambda: image_run(height=32, width=32),
        extend=_fill_padding_tokens,
    ),
    SmallPipeline(
        "cogview4-control",
        "controlnet",
        "CogView4ControlPipeline",
        lambda: _cogview4_components(in_channels=8),
        lambda: _image_run(control_image=seeded_image(32)),
    ),
)
