"""Pipelines whose denoiser is steered by a second network that sees a control image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .image_inputs import image_run, inpaint_run
from .inputs import seeded_image, short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .stable_diffusion import UNET_SIZES, stable_diffusion_components, stable_diffusion_unet
from .stable_diffusion_3 import TRANSFORMER_SIZES as SD3_TRANSFORMER_SIZES
from .stable_diffusion_3 import stable_diffusion_3_components
from .stable_diffusion_xl import XL_CONDITIONING, stable_diffusion_xl_components

if TYPE_CHECKING:
    from diffusers import ModelMixin


def controlnet_model(**changes: Any) -> ModelMixin:
    from diffusers import ControlNetModel

    blocks = {
        "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
        "conditioning_embedding_out_channels": (4, 8),
    }
    return ControlNetModel(**{**UNET_SIZES, **blocks, **changes})


def _two_controlnets() -> Components:
    return stable_diffusion_components(controlnet=[controlnet_model(), controlnet_model()])


def _controlnet_union() -> ModelMixin:
    from diffusers import ControlNetUnionModel

    return ControlNetUnionModel(
        **{**UNET_SIZES, **XL_CONDITIONING},
        conditioning_embedding_out_channels=(4, 8),
        num_control_type=2,
        num_trans_channel=8,
        num_trans_head=2,
        num_proj_channel=8,
    )


def _controlnet_xs_components() -> Components:
    """A small control network that also reads from the UNet it steers, block by block."""
    from diffusers import ControlNetXSAdapter

    controlnet = ControlNetXSAdapter(
        block_out_channels=(4, 8),
        base_block_out_channels=UNET_SIZES["block_out_channels"],
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        conditioning_embedding_out_channels=(4, 8),
        num_attention_heads=2,
        cross_attention_dim=UNET_SIZES["cross_attention_dim"],
        max_norm_num_groups=4,
        use_linear_projection=False,
        sample_size=16,
    )
    return stable_diffusion_components(unet=stable_diffusion_unet(layers_per_block=2), controlnet=controlnet)


def _sd3_controlnet() -> ModelMixin:
    from diffusers import SD3ControlNetModel

    return SD3ControlNetModel(**SD3_TRANSFORMER_SIZES, num_layers=1)


def _controlled_run(**changes: Any) -> Arguments:
    return short_run(height=32, width=32, **changes)


PIPELINES = (
    SmallPipeline(
        "stable-diffusion-controlnet",
        "controlnet",
        "StableDiffusionControlNetPipeline",
        lambda: stable_diffusion_components(controlnet=controlnet_model()),
        lambda: _controlled_run(image=seeded_image(32)),
    ),
    SmallPipeline(
        "stable-diffusion-two-controlnets",
        "controlnet",
        "StableDiffusionControlNetPipeline",
        _two_controlnets,
        lambda: _controlled_run(image=[seeded_image(32), seeded_image(32)], control_guidance_end=[1.0, 0.5]),
    ),
    SmallPipeline(
        "stable-diffusion-controlnet-img2img",
        "controlnet",
        "StableDiffusionControlNetImg2ImgPipeline",
        lambda: stable_diffusion_components(controlnet=controlnet_model()),
        lambda: image_run(control_image=seeded_image(32)),
    ),
    SmallPipeline(
        "stable-diffusion-controlnet-inpaint",
        "controlnet",
        "StableDiffusionControlNetInpaintPipeline",
        lambda: stable_diffusion_components(controlnet=controlnet_model()),
        lambda: inpaint_run(control_image=seeded_image(32)),
    ),
    SmallPipeline(
        "stable-diffusion-xl-controlnet",
        "controlnet",
        "StableDiffusionXLControlNetPipeline",
        lambda: stable_diffusion_xl_components(controlnet=controlnet_model(**XL_CONDITIONING)),
        lambda: _controlled_run(image=seeded_image(32)),
    ),
    SmallPipeline(
        "stable-diffusion-xl-controlnet-union",
        "controlnet",
        "StableDiffusionXLControlNetUnionPipeline",
        lambda: stable_diffusion_xl_components(controlnet=_controlnet_union()),
        lambda: _controlled_run(control_image=seeded_image(32), control_mode=0),
    ),
    SmallPipeline(
        "stable-diffusion-3-controlnet",
        "controlnet",
        "StableDiffusion3ControlNetPipeline",
        lambda: stable_diffusion_3_components(controlnet=_sd3_controlnet()),
        lambda: _controlled_run(control_image=seeded_image(32)),
    ),
    SmallPipeline(
        "stable-diffusion-controlnet-xs",
        "controlnet",
        "StableDiffusionControlNetXSPipeline",
        _controlnet_xs_components,
        lambda: _controlled_run(image=seeded_image(32)),
    ),
    SmallPipeline(
        "stable-diffusion-xl-controlnet-img2img",
        "controlnet",
        "StableDiffusionXLControlNetImg2ImgPipeline",
        lambda: stable_diffusion_xl_components(controlnet=controlnet_model(**XL_CONDITIONING)),
        lambda: image_run(control_image=seeded_image(32)),
    ),
    SmallPipeline(
        "stable-diffusion-xl-controlnet-inpaint",
        "controlnet",
        "StableDiffusionXLControlNetInpaintPipeline",
        lambda: stable_diffusion_xl_components(controlnet=controlnet_model(**XL_CONDITIONING)),
        lambda: inpaint_run(control_image=seeded_image(32)),
    ),
)
