"""Diffusion transformers that see the text by cross-attention: DiT, PixArt, SANA and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import deep_compression_autoencoder, image_autoencoder, wan_autoencoder
from .inputs import seeded_image, short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .stable_diffusion import ddim_scheduler
from .text_encoders import (
    TEXT_WIDTH,
    bert_model,
    gemma2_model,
    gemma_model,
    t5_encoder,
    t5_gemma_encoder,
)
from .text_tokenizers import (
    bert_tokenizer,
    gemma_tokenizer,
    t5_tokenizer,
)

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline, ModelMixin


def _dit_components() -> Components:
    from diffusers import DiTTransformer2DModel

    transformer = DiTTransformer2DModel(
        sample_size=8,
        num_layers=2,
        patch_size=2,
        attention_head_dim=8,
        num_attention_heads=2,
        in_channels=4,
        out_channels=8,
    )
    return {"transformer": transformer, "vae": image_autoencoder(), "scheduler": ddim_scheduler()}


def _pixart_components() -> Components:
    return {
        "transformer": _pixart_transformer(),
        "vae": image_autoencoder(),
        "text_encoder": t5_encoder(),
        "tokenizer": t5_tokenizer(),
        "scheduler": ddim_scheduler(),
    }


def _pixart_transformer() -> ModelMixin:
    from diffusers import PixArtTransformer2DModel

    return PixArtTransformer2DModel(
        sample_size=8,
        num_layers=2,
        attention_head_dim=8,
        num_attention_heads=4,
        in_channels=4,
        out_channels=8,
        cross_attention_dim=32,
        caption_channels=TEXT_WIDTH,
    )


def _sana_components(**changes: Any) -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler

    return {
        "transformer": _sana_transformer(),
        "vae": deep_compression_autoencoder(),
        "text_encoder": gemma2_model(),
        "tokenizer": gemma_tokenizer(),
        "scheduler": FlowMatchEulerDiscreteScheduler(shift=7.0),
        **changes,
    }


def _sana_transformer(**changes: Any) -> ModelMixin:
    from diffusers import SanaTransformer2DModel

    return SanaTransformer2DModel(**{**SANA_TRANSFORMER_SIZES, **changes})


SANA_TRANSFORMER_SIZES: dict[str, Any] = {
    "patch_size": 1,
    "in_channels": 4,
    "out_channels": 4,
    "num_layers": 1,
    "num_attention_heads": 2,
    "attention_head_dim": 4,
    "num_cross_attention_heads": 2,
    "cross_attention_head_dim": 4,
    "cross_attention_dim": 8,
    "caption_channels": TEXT_WIDTH,
    "sample_size": 32,
}


def _without_binning(**changes: Any) -> Arguments:
    """Without this, the smallest size would be that of the nearest trained resolution."""
    return short_run(height=32, width=32, use_resolution_binning=False, **changes)


def _sana_run(**changes: Any) -> Arguments:
    """With a short text: its own has hundreds of tokens, which take most of the time."""
    short = {"complex_human_instruction": ["Describe it: "], "max_sequence_length": 16}
    return _without_binning(**short, **changes)


def _sana_sprint_components() -> Components:
    from diffusers import SCMScheduler

    return _sana_components(
        transformer=_sana_transformer(guidance_embeds=True, qk_norm="rms_norm_across_heads"),
        scheduler=SCMScheduler(),
    )


def _sana_video_components() -> Components:
    from diffusers import DPMSolverMultistepScheduler, SanaVideoTransformer3DModel

    transformer = SanaVideoTransformer3DModel(
        num_attention_heads=2,
        attention_head_dim=12,
        num_layers=1,
        num_cross_attention_heads=2,
        cross_attention_head_dim=12,
        cross_attention_dim=24,
        caption_channels=TEXT_WIDTH,
        sample_size=8,
        rope_max_seq_len=32,
    )
    return _sana_components(transformer=transformer, vae=wan_autoencoder(), scheduler=DPMSolverMultistepScheduler())


def _sana_controlnet() -> ModelMixin:
    from diffusers import SanaControlNetModel

    return SanaControlNetModel(**SANA_TRANSFORMER_SIZES)


def _hunyuan_dit_components(**changes: Any) -> Components:
    """Two text encoders, and blocks with skip connections as in a UNet."""
    from diffusers import DDPMScheduler, HunyuanDiT2DModel

    return {
        "transformer": HunyuanDiT2DModel(num_layers=2, **HUNYUAN_DIT_SIZES),
        "vae": image_autoencoder(levels=4),
        "scheduler": DDPMScheduler(),
        "text_encoder": bert_model(),
        "tokenizer": bert_tokenizer(),
        "text_encoder_2": t5_encoder(),
        "tokenizer_2": t5_tokenizer(),
        "safety_checker": None,
        "feature_extractor": None,
        **changes,
    }


HUNYUAN_DIT_SIZES: dict[str, Any] = {
    "sample_size": 8,
    "patch_size": 2,
    "attention_head_dim": 8,
    "num_attention_heads": 4,
    "hidden_size": 32,
    "in_channels": 4,
    "cross_attention_dim": TEXT_WIDTH,
    "cross_attention_dim_t5": TEXT_WIDTH,
    "pooled_projection_dim": 16,
}


def _hunyuan_dit_controlnet() -> ModelMixin:
    from diffusers import HunyuanDiT2DControlNetModel

    return HunyuanDiT2DControlNetModel(transformer_num_layers=4, **HUNYUAN_DIT_SIZES)


def _hunyuan_dit_controlnet_components() -> Components:
    from diffusers import HunyuanDiT2DModel

    return _hunyuan_dit_components(
        transformer=HunyuanDiT2DModel(num_layers=4, **HUNYUAN_DIT_SIZES),
        controlnet=_hunyuan_dit_controlnet(),
    )


def _lumina_components() -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler, LuminaNextDiT2DModel

    transformer = LuminaNextDiT2DModel(
        sample_size=8,
        hidden_size=32,
        num_layers=2,
        num_attention_heads=4,
        num_kv_heads=2,
        multiple_of=16,
        cross_attention_dim=TEXT_WIDTH,
    )
    return {
        "transformer": transformer,
        "vae": image_autoencoder(levels=4),
        "scheduler": FlowMatchEulerDiscreteScheduler(),
        "text_encoder": gemma_model(),
        "tokenizer": gemma_tokenizer(),
    }


def _fill_padding_token(pipeline: DiffusionPipeline) -> None:
    """The model leaves this weight as the memory was; a checkpoint would fill it."""
    import torch

    torch.nn.init.normal_(pipeline.transformer.pad_token, std=0.02)


def _prx_components() -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler, PRXTransformer2DModel

    transformer = PRXTransformer2DModel(
        in_channels=4,
        context_in_dim=TEXT_WIDTH,
        hidden_size=16,
        num_heads=2,
        depth=1,
        axes_dim=[4, 4],
    )
    return {
        "transformer": transformer,
        "vae": image_autoencoder(shift_factor=0.0),
        "scheduler": FlowMatchEulerDiscreteScheduler(),
        "text_encoder": t5_gemma_encoder(),
        "tokenizer": gemma_tokenizer(model_max_length=64),
    }


PIPELINES = (
    SmallPipeline(
        "dit",
        "dit",
        "DiTPipeline",
        _dit_components,
        lambda: short_run(prompt=None, class_labels=[1]),
    ),
    SmallPipeline("pixart-alpha", "dit", "PixArtAlphaPipeline", _pixart_components, _without_binning),
    SmallPipeline("pixart-sigma", "dit", "PixArtSigmaPipeline", _pixart_components, _without_binning),
    SmallPipeline("sana", "linear-attention", "SanaPipeline", _sana_components, _sana_run),
    SmallPipeline(
        "sana-sprint",
        "linear-attention",
        "SanaSprintPipeline",
        _sana_sprint_components,
        _sana_run,
    ),
    SmallPipeline(
        "sana-controlnet",
        "controlnet",
        "SanaControlNetPipeline",
        lambda: _sana_components(controlnet=_sana_controlnet()),
        lambda: _sana_run(control_image=seeded_image(32)),
    ),
    SmallPipeline(
        "sana-perturbed-attention",
        "linear-attention",
        "SanaPAGPipeline",
        _sana_components,
        lambda: _sana_run(pag_scale=3.0),
    ),
    SmallPipeline(
        "sana-video",
        "video",
        "SanaVideoPipeline",
        _sana_video_components,
        lambda: _sana_run(frames=9),
    ),
    SmallPipeline("hunyuan-dit", "dit", "HunyuanDiTPipeline", _hunyuan_dit_components, _without_binning),
    SmallPipeline(
        "hunyuan-dit-controlnet",
        "controlnet",
        "HunyuanDiTControlNetPipeline",
        _hunyuan_dit_controlnet_components,
        lambda: _without_binning(control_image=seeded_image(32)),
    ),
    SmallPipeline(
        "lumina",
        "dit",
        "LuminaPipeline",
        _lumina_components,
        lambda: short_run(height=32, width=32, clean_caption=False),
        extend=_fill_padding_token,
    ),
    SmallPipeline("prx", "dit", "PRXPipeline", _prx_components, _without_binning),
    SmallPipeline(
        "pixart-sigma-perturbed-attention",
        "dit",
        "PixArtSigmaPAGPipeline",
        lambda: {**_pixart_components(), "pag_applied_layers": "blocks.1"},
        lambda: _without_binning(pag_scale=3.0),
    ),
    SmallPipeline(
        "sana-sprint-img2img",
        "img2img",
        "SanaSprintImg2ImgPipeline",
        _sana_sprint_components,
        lambda: _sana_run(image=seeded_image(32)),
    ),
    SmallPipeline(
        "hunyuan-dit-perturbed-attention",
        "dit",
        "HunyuanDiTPAGPipeline",
        lambda: _hunyuan_dit_components(pag_applied_layers="1"),
        lambda: _without_binning(pag_scale=3.0),
    ),
)
