"""Qwen-Image: a vision-language model as text encoder and a multimodal diffusion transformer."""

from __future__ import annotations

import functools
import inspect
import types
from typing import TYPE_CHECKING, Any

from .autoencoders import qwen_image_autoencoder
from .image_inputs import image_run, inpaint_run
from .inputs import seeded_image, short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .text_encoders import TEXT_WIDTH, qwen2_5_vl
from .text_tokenizers import CHAT_TEMPLATE, qwen_tokenizer

if TYPE_CHECKING:
    from diffusers import ModelMixin


def _components(**changes: Any) -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler

    return {
        "scheduler": FlowMatchEulerDiscreteScheduler(),
        "vae": qwen_image_autoencoder(),
        "text_encoder": qwen2_5_vl(),
        "tokenizer": qwen_tokenizer(),
        "transformer": _transformer(),
        **changes,
    }


def _transformer() -> ModelMixin:
    from diffusers import QwenImageTransformer2DModel

    return QwenImageTransformer2DModel(**TRANSFORMER_SIZES)


TRANSFORMER_SIZES: dict[str, Any] = {
    "patch_size": 2,
    "in_channels": 16,
    "out_channels": 4,
    "num_layers": 2,
    "attention_head_dim": 16,
    "num_attention_heads": 2,
    "joint_attention_dim": TEXT_WIDTH,
    "axes_dims_rope": (8, 4, 4),
}


def _controlnet() -> ModelMixin:
    from diffusers import QwenImageControlNetModel

    return QwenImageControlNetModel(**{**TRANSFORMER_SIZES, "num_layers": 1})


def _edit_components() -> Components:
    return _components(processor=_processor())


def _processor() -> Any:
    """A processor of texts and images; one of videos would need torchvision."""
    from transformers import Qwen2VLProcessor
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    class Processor(Qwen2VLProcessor):  # type: ignore[misc]
        def check_argument_for_proper_class(self, name: str, value: Any) -> None:
            """A processor without videos is as good."""

    images = Qwen2VLImageProcessorPil(min_pixels=28 * 28, max_pixels=56 * 56)
    return Processor(image_processor=images, tokenizer=qwen_tokenizer(), chat_template=CHAT_TEMPLATE)


def _guided_run(**changes: Any) -> Arguments:
    """A run with true guidance, which calls the transformer once for each of the two prompts."""
    return short_run(height=32, width=32, **GUIDANCE, **changes)


GUIDANCE: Arguments = {"negative_prompt": "blurred", "true_cfg_scale": 4.0}


def _edit_run(**changes: Any) -> Arguments:
    return _guided_run(image=seeded_image(32), **changes)


def _shrink_images(pipeline: Any) -> None:
    """Images are resized to a megapixel before they are encoded, whatever their size; to 64 x 64 here."""
    import torch

    owner = type(pipeline)
    call = inspect.unwrap(owner.__call__)
    resize = call.__globals__["calculate_dimensions"]
    values = {**call.__globals__, "calculate_dimensions": lambda area, ratio: resize(64 * 64, ratio)}
    own = types.FunctionType(call.__code__, values, call.__name__, call.__defaults__, call.__closure__)
    wrapped = torch.no_grad()(functools.wraps(call)(own))
    pipeline.__class__ = type(owner.__name__, (owner,), {"__call__": wrapped, "__module__": owner.__module__})


PIPELINES = (
    SmallPipeline("qwen-image", "mmdit", "QwenImagePipeline", _components, _guided_run),
    SmallPipeline(
        "qwen-image-unguided",
        "mmdit",
        "QwenImagePipeline",
        _components,
        lambda: short_run(height=32, width=32, true_cfg_scale=1.0),
    ),
    SmallPipeline(
        "qwen-image-img2img",
        "img2img",
        "QwenImageImg2ImgPipeline",
        _components,
        lambda: image_run(height=32, width=32, **GUIDANCE),
    ),
    SmallPipeline(
        "qwen-image-inpaint",
        "inpaint",
        "QwenImageInpaintPipeline",
        _components,
        lambda: inpaint_run(**GUIDANCE),
    ),
    SmallPipeline(
        "qwen-image-controlnet",
        "controlnet",
        "QwenImageControlNetPipeline",
        lambda: _components(controlnet=_controlnet()),
        lambda: _guided_run(control_image=seeded_image(32)),
    ),
    SmallPipeline("qwen-image-edit", "img2img", "QwenImageEditPipeline", _edit_components, _edit_run, _shrink_images),
    SmallPipeline(
        "qwen-image-edit-plus",
        "img2img",
        "QwenImageEditPlusPipeline",
        _edit_components,
        lambda: _guided_run(image=[seeded_image(32), seeded_image(48)]),
        _shrink_images,
    ),
)
