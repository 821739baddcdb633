"""Flux: a transformer with joint and single-stream blocks, guided by an embedded scalar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import flow_image_autoencoder
from .image_encoders import clip_image_processor, siglip_image_encoder
from .image_inputs import image_run, inpaint_run
from .inputs import PROMPT, half_mask, seeded_image, short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .text_encoders import TEXT_WIDTH, clip_text_encoder, t5_encoder
from .text_tokenizers import clip_tokenizer, t5_tokenizer

if TYPE_CHECKING:
    from diffusers import ModelMixin

LATENT_CHANNELS = 2
PACKED_CHANNELS = 4 * LATENT_CHANNELS


def flux_components(**changes: Any) -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler

    return {
        "scheduler": FlowMatchEulerDiscreteScheduler(),
        "vae": flow_image_autoencoder(latent_channels=LATENT_CHANNELS),
        "text_encoder": clip_text_encoder(),
        "tokenizer": clip_tokenizer(),
        "text_encoder_2": t5_encoder(),
        "tokenizer_2": t5_tokenizer(),
        "transformer": _transformer(),
        **changes,
    }


TRANSFORMER_SIZES: dict[str, Any] = {
    "patch_size": 1,
    "in_channels": PACKED_CHANNELS,
    "num_layers": 1,
    "num_single_layers": 1,
    "attention_head_dim": 16,
    "num_attention_heads": 2,
    "joint_attention_dim": TEXT_WIDTH,
    "pooled_projection_dim": TEXT_WIDTH,
    "axes_dims_rope": (4, 4, 8),
    "guidance_embeds": True,
}


def _transformer(**changes: Any) -> ModelMixin:
    from diffusers import FluxTransformer2DModel

    return FluxTransformer2DModel(**{**TRANSFORMER_SIZES, **changes})


def flux_run(**changes: Any) -> Arguments:
    return short_run(height=32, width=32, max_sequence_length=48, **changes)


def _fill_transformer() -> ModelMixin:
    """A transformer that also sees the masked image and, pixel by pixel, the mask."""
    pixels_per_token = 4 * 4
    return _transformer(in_channels=2 * PACKED_CHANNELS + pixels_per_token, out_channels=PACKED_CHANNELS)


def _control_transformer() -> ModelMixin:
    return _transformer(in_channels=2 * PACKED_CHANNELS, out_channels=PACKED_CHANNELS)


def _controlnet() -> ModelMixin:
    from diffusers import FluxControlNetModel

    return FluxControlNetModel(**TRANSFORMER_SIZES)


def _redux_components() -> Components:
    """An image encoder and a projection that turn an image into what a prompt would give."""
    from diffusers.pipelines.flux import ReduxImageEncoder

    texts = ("text_encoder", "tokenizer", "text_encoder_2", "tokenizer_2")
    components = flux_components()
    return {
        "image_encoder": siglip_image_encoder(),
        "feature_extractor": clip_image_processor(),
        "image_embedder": ReduxImageEncoder(redux_dim=TEXT_WIDTH, txt_in_features=TEXT_WIDTH),
        **{name: components[name] for name in texts},
    }


def _visual_cloze_arguments() -> Arguments:
    """A grid of an example pair and a query whose answer is missing."""
    return short_run(
        prompt=None,
        max_sequence_length=48,
        task_prompt="Each row shows a house and its drawing.",
        content_prompt="a red house",
        image=[[seeded_image(32), seeded_image(32)], [seeded_image(32), None]],
    )


PIPELINES = (
    SmallPipeline("flux", "mmdit", "FluxPipeline", flux_components, flux_run),
    SmallPipeline(
        "flux-true-guidance",
        "mmdit",
        "FluxPipeline",
        lambda: flux_components(transformer=_transformer(guidance_embeds=False)),
        lambda: flux_run(negative_prompt="blurred", true_cfg_scale=3.0),
    ),
    SmallPipeline(
        "flux-img2img",
        "img2img",
        "FluxImg2ImgPipeline",
        flux_components,
        lambda: image_run(height=32, width=32, max_sequence_length=48),
    ),
    SmallPipeline(
        "flux-inpaint",
        "inpaint",
        "FluxInpaintPipeline",
        flux_components,
        lambda: inpaint_run(max_sequence_length=48),
    ),
    SmallPipeline(
        "flux-fill",
        "inpaint",
        "FluxFillPipeline",
        lambda: flux_components(transformer=_fill_transformer()),
        lambda: flux_run(image=seeded_image(32), mask_image=half_mask(32)),
    ),
    SmallPipeline(
        "flux-control",
        "controlnet",
        "FluxControlPipeline",
        lambda: flux_components(transformer=_control_transformer()),
        lambda: flux_run(control_image=seeded_image(32)),
    ),
    SmallPipeline(
        "flux-controlnet",
        "controlnet",
        "FluxControlNetPipeline",
        lambda: flux_components(controlnet=_controlnet()),
        lambda: flux_run(control_image=seeded_image(32)),
    ),
    SmallPipeline(
        "flux-kontext",
        "img2img",
        "FluxKontextPipeline",
        flux_components,
        lambda: flux_run(image=seeded_image(32), max_area=32 * 32, _auto_resize=False),
    ),
    SmallPipeline(
        "flux-redux",
        "prior",
        "FluxPriorReduxPipeline",
        _redux_components,
        lambda: {"image": seeded_image(28), "prompt": PROMPT},
    ),
    SmallPipeline(
        "visual-cloze",
        "img2img",
        "VisualClozeGenerationPipeline",
        lambda: flux_components(transformer=_fill_transformer(), resolution=32),
        _visual_cloze_arguments,
    ),
    SmallPipeline(
        "flux-controlnet-img2img",
        "controlnet",
        "FluxControlNetImg2ImgPipeline",
        lambda: flux_components(controlnet=_controlnet()),
        lambda: image_run(control_image=seeded_image(32), height=32, width=32, max_sequence_length=48),
    ),
)
