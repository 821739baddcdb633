"""Add an IP-Adapter to a UNet without weights: its image encoder, its projection, and its attention to the image."""

from __future__ import annotations

from typing import Any

import torch

from diffprof.errors import RequestError, first_line
from diffprof.pipelines.building.build import build_virtual_model, virtual_weights
from diffprof.pipelines.patching import Patches
from diffprof.pipelines.plans.blueprint import PartPlan
from diffprof.record.changes import IP_ADAPTERS

VIT_H: dict[str, Any] = {
    "hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32, "num_attention_heads": 16,
    "patch_size": 14, "image_size": 224, "projection_dim": 1024, "hidden_act": "gelu",
}  # fmt: skip
"""CLIP ViT-H/14: the image encoder of IP-Adapter for Stable Diffusion 1.5, and of its ViT-H version for SDXL."""

BASE_TOKENS, PLUS_TOKENS, PLUS_LAYERS = 4, 16, 4
HEAD_SIZE = 64


def add_ip_adapter(pipeline: Any, kind: str, dtype: torch.dtype) -> list[str]:
    """Give the pipeline an IP-Adapter of the published shapes; return the assumptions made."""
    if kind not in IP_ADAPTERS:
        raise RequestError(f"unknown IP-Adapter {kind!r}; there are {' and '.join(IP_ADAPTERS)}")
    unet = getattr(pipeline, "unet", None)
    if unet is None or not hasattr(pipeline, "load_ip_adapter") or not hasattr(unet, "attn_processors"):
        raise RequestError(
            f"{type(pipeline).__name__} cannot take an IP-Adapter here: its shapes are known for UNets of "
            "Stable Diffusion and SDXL"
        )
    from transformers import CLIPImageProcessor, CLIPVisionModelWithProjection

    plan = PartPlan("image_encoder", "transformers", "CLIPVisionModelWithProjection", VIT_H, only_differences=True)
    encoder = build_virtual_model(CLIPVisionModelWithProjection, plan, VIT_H, dtype)
    pipeline.register_modules(image_encoder=encoder, feature_extractor=CLIPImageProcessor())
    with torch.device("meta"):
        weights = {"image_proj": _projection(unet, kind), "ip_adapter": _attention(unet)}
    with Patches() as patches, virtual_weights(patches, dtype):
        try:
            pipeline.load_ip_adapter(weights, subfolder="", weight_name="", image_encoder_folder=None)
        except Exception as error:
            raise RequestError(f"{type(unet).__name__} cannot take an IP-Adapter: {first_line(error)}") from error
    for module in unet.modules():
        for name, weight in module._parameters.items():
            if (
                weight is not None
                and weight.dtype != dtype
                and weight.is_meta
                and "image_proj" in type(module).__name__
            ):
                module._parameters[name] = torch.nn.Parameter(weight.to(dtype), requires_grad=False)
    return [f"the IP-Adapter is {kind} with a CLIP ViT-H/14 image encoder, of the published shapes"]


def _projection(unet: Any, kind: str) -> dict[str, torch.Tensor]:
    width = unet.config.cross_attention_dim
    if kind == "base":
        return {
            "proj.weight": torch.empty(BASE_TOKENS * width, VIT_H["projection_dim"]),
            "proj.bias": torch.empty(BASE_TOKENS * width),
            "norm.weight": torch.empty(width),
            "norm.bias": torch.empty(width),
        }
    return _resampler(width)


def _resampler(width: int) -> dict[str, torch.Tensor]:
    """Return the weights of sixteen learned tokens that attend to those of the image, in four layers."""
    inner = 768 if width <= 768 else 1280
    weights = {
        "latents": torch.empty(1, PLUS_TOKENS, inner),
        "proj_in.weight": torch.empty(inner, VIT_H["hidden_size"]),
        "proj_in.bias": torch.empty(inner),
        "proj_out.weight": torch.empty(width, inner),
        "proj_out.bias": torch.empty(width),
        "norm_out.weight": torch.empty(width),
        "norm_out.bias": torch.empty(width),
    }
    heads = inner // HEAD_SIZE
    for layer in range(PLUS_LAYERS):
        attention, feed_forward = f"layers.{layer}.0", f"layers.{layer}.1"
        for norm in (f"{attention}.norm1", f"{attention}.norm2", f"{feed_forward}.0"):
            weights |= {f"{norm}.weight": torch.empty(inner), f"{norm}.bias": torch.empty(inner)}
        weights |= {
            f"{attention}.to_q.weight": torch.empty(heads * HEAD_SIZE, inner),
            f"{attention}.to_kv.weight": torch.empty(2 * heads * HEAD_SIZE, inner),
            f"{attention}.to_out.weight": torch.empty(inner, heads * HEAD_SIZE),
            f"{feed_forward}.1.weight": torch.empty(4 * inner, inner),
            f"{feed_forward}.3.weight": torch.empty(inner, 4 * inner),
        }
    return weights


def _attention(unet: Any) -> dict[str, torch.Tensor]:
    """Return keys and values for each cross-attention, numbered as in published IP-Adapters."""
    weights = {}
    number = 1
    for name in unet.attn_processors:
        if name.endswith("attn1.processor") or "motion_modules" in name:
            continue
        attention = unet.get_submodule(name.removesuffix(".processor"))
        for projection in ("k", "v"):
            shape = (attention.inner_dim, unet.config.cross_attention_dim)
            weights[f"{number}.to_{projection}_ip.weight"] = torch.empty(shape)
        number += 2
    return weights
