"""Stable Diffusion's weights under the names that its first authors gave them, as checkpoints of one file have them."""

from __future__ import annotations

import re
from typing import Any

import torch

RESNET = {
    "norm1": "in_layers.0",
    "conv1": "in_layers.2",
    "norm2": "out_layers.0",
    "conv2": "out_layers.3",
    "time_emb_proj": "emb_layers.1",
    "conv_shortcut": "skip_connection",
}
UNET_ENDS = {
    "time_embedding.linear_1": "time_embed.0",
    "time_embedding.linear_2": "time_embed.2",
    "conv_in": "input_blocks.0.0",
    "conv_norm_out": "out.0",
    "conv_out": "out.2",
}
VAE_ATTENTION = {"group_norm": "norm", "to_q": "q", "to_k": "k", "to_v": "v", "to_out.0": "proj_out"}


def checkpoint(pipeline: Any) -> dict[str, torch.Tensor]:
    """The weights of UNet, VAE and text encoder in one dictionary."""
    unet = {f"model.diffusion_model.{name}": weight for name, weight in unet_weights(pipeline.unet).items()}
    vae = {f"first_stage_model.{name}": weight for name, weight in vae_weights(pipeline.vae).items()}
    text = {
        f"cond_stage_model.transformer.text_model.{name.removeprefix('text_model.')}": weight
        for name, weight in pipeline.text_encoder.state_dict().items()
    }
    return {name: weight.contiguous() for name, weight in {**unet, **vae, **text}.items()}


def unet_weights(unet: Any) -> dict[str, torch.Tensor]:
    layers = unet.config.layers_per_block
    with_attention = ["CrossAttn" in kind for kind in unet.config.up_block_types]
    return {_unet_name(name, layers, with_attention): weight for name, weight in unet.state_dict().items()}


def _unet_name(name: str, layers: int, with_attention: list[bool]) -> str:
    for own, original in UNET_ENDS.items():
        if name.startswith(f"{own}."):
            return name.replace(own, original)
    match = re.fullmatch(
        r"(down|mid|up)_blocks?\.(?:(\d+)\.)?(resnets|attentions|downsamplers|upsamplers)\.(\d+)\.(.+)", name
    )
    assert match is not None, name
    where, block, kind, number, rest = match[1], int(match[2] or 0), match[3], int(match[4]), match[5]
    if kind == "resnets":
        part = next(own for own in RESNET if rest.startswith(own))
        rest = rest.replace(part, RESNET[part])
    if where == "mid":
        return f"middle_block.{2 * number if kind == 'resnets' else 1}.{rest}"
    if kind == "downsamplers":
        return f"input_blocks.{(layers + 1) * (block + 1)}.0.{rest.replace('conv', 'op')}"
    if kind == "upsamplers":
        return f"output_blocks.{(layers + 1) * block + layers}.{2 if with_attention[block] else 1}.{rest}"
    place = 0 if kind == "resnets" else 1
    if where == "down":
        return f"input_blocks.{(layers + 1) * block + number + 1}.{place}.{rest}"
    return f"output_blocks.{(layers + 1) * block + number}.{place}.{rest}"


def vae_weights(vae: Any) -> dict[str, torch.Tensor]:
    levels = len(vae.config.block_out_channels)
    found = {}
    for name, weight in vae.state_dict().items():
        is_projection = ".attentions." in name and weight.ndim == 2
        found[_vae_name(name, levels)] = weight[:, :, None, None] if is_projection else weight
    return found


def _vae_name(name: str, levels: int) -> str:
    name = re.sub(r"down_blocks\.(\d+)\.resnets", r"down.\1.block", name)
    name = re.sub(r"down_blocks\.(\d+)\.downsamplers\.0", r"down.\1.downsample", name)
    name = re.sub(r"up_blocks\.(\d+)\.resnets", lambda match: f"up.{levels - 1 - int(match[1])}.block", name)
    name = re.sub(r"up_blocks\.(\d+)\.upsamplers\.0", lambda match: f"up.{levels - 1 - int(match[1])}.upsample", name)
    name = re.sub(r"mid_block\.resnets\.(\d+)", lambda match: f"mid.block_{int(match[1]) + 1}", name)
    if "mid_block.attentions.0" in name:
        name = name.replace("mid_block.attentions.0", "mid.attn_1")
        part = next(own for own in VAE_ATTENTION if f".{own}." in name)
        name = name.replace(part, VAE_ATTENTION[part])
    return name.replace("conv_norm_out", "norm_out").replace("conv_shortcut", "nin_shortcut")
