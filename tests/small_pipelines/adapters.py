"""Stable Diffusion with something added to it: a LoRA, an IP-Adapter, a T2I-Adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .image_encoders import clip_image_encoder, clip_image_processor
from .inputs import seeded_image, short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .stable_diffusion import stable_diffusion_components
from .stable_diffusion_xl import stable_diffusion_xl_components
from .text_encoders import TEXT_WIDTH

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline, ModelMixin


def _add_lora(pipeline: DiffusionPipeline) -> None:
    from peft import LoraConfig

    projections = ["to_q", "to_k", "to_v", "to_out.0"]
    pipeline.unet.add_adapter(LoraConfig(r=4, target_modules=projections))


def _ip_adapter_components() -> Components:
    return stable_diffusion_components(image_encoder=clip_image_encoder(), feature_extractor=clip_image_processor())


IP_ADAPTER_TOKENS = 4


def _add_ip_adapter(pipeline: DiffusionPipeline) -> None:
    weights = {
        "image_proj": _image_projection_weights(),
        "ip_adapter": _image_attention_weights(pipeline.unet),
    }
    pipeline.load_ip_adapter(weights, subfolder="", weight_name="", image_encoder_folder=None)


def _image_projection_weights() -> dict[str, Any]:
    import torch

    return {
        "proj.weight": torch.randn(IP_ADAPTER_TOKENS * TEXT_WIDTH, TEXT_WIDTH),
        "proj.bias": torch.randn(IP_ADAPTER_TOKENS * TEXT_WIDTH),
        "norm.weight": torch.ones(TEXT_WIDTH),
        "norm.bias": torch.zeros(TEXT_WIDTH),
    }


def _image_attention_weights(unet: ModelMixin) -> dict[str, Any]:
    """Keys and values for each cross-attention, numbered as published IP-Adapters number them."""
    import torch

    weights = {}
    for position, name in enumerate(unet.attn_processors):
        if name.endswith("attn2.processor"):
            attention = unet.get_submodule(name.removesuffix(".processor"))
            for projection in ("k", "v"):
                weights[f"{position}.to_{projection}_ip.weight"] = torch.randn(attention.inner_dim, TEXT_WIDTH)
    return weights


def _t2i_adapter(adapter_type: str, downscale_factor: int) -> ModelMixin:
    from diffusers import T2IAdapter

    return T2IAdapter(
        channels=[8, 16],
        num_res_blocks=1,
        adapter_type=adapter_type,
        downscale_factor=downscale_factor,
    )


def _t2i_adapter_arguments() -> Arguments:
    return short_run(image=seeded_image(32), height=32, width=32)


PIPELINES = (
    SmallPipeline(
        "stable-diffusion-lora",
        "adapter",
        "StableDiffusionPipeline",
        stable_diffusion_components,
        short_run,
        extend=_add_lora,
    ),
    SmallPipeline(
        "stable-diffusion-xl-lora",
        "adapter",
        "StableDiffusionXLPipeline",
        stable_diffusion_xl_components,
        short_run,
        extend=_add_lora,
    ),
    SmallPipeline(
        "stable-diffusion-ip-adapter",
        "adapter",
        "StableDiffusionPipeline",
        _ip_adapter_components,
        lambda: short_run(ip_adapter_image=seeded_image(28)),
        extend=_add_ip_adapter,
    ),
    SmallPipeline(
        "stable-diffusion-t2i-adapter",
        "adapter",
        "StableDiffusionAdapterPipeline",
        lambda: stable_diffusion_components(adapter=_t2i_adapter("full_adapter", 2)),
        _t2i_adapter_arguments,
    ),
    SmallPipeline(
        "stable-diffusion-xl-t2i-adapter",
        "adapter",
        "StableDiffusionXLAdapterPipeline",
        lambda: stable_diffusion_xl_components(adapter=_t2i_adapter("full_adapter_xl", 4)),
        _t2i_adapter_arguments,
    ),
)
