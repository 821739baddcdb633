"""Small versions of many diffusers pipelines, with random weights and nothing to download.

`SMALL_PIPELINES` maps a name to a `SmallPipeline`. Importing it is cheap: torch, transformers and
diffusers are imported when a pipeline is built.
"""

from . import (
    adapters,
    audio,
    cascades,
    controlnets,
    diffusion_transformers,
    flux,
    hidream,
    image_inputs,
    joint_transformers,
    kandinsky,
    kolors,
    layered_text,
    masked_tokens,
    quantized,
    qwen_image,
    runtime_options,
    stable_diffusion,
    stable_diffusion_3,
    stable_diffusion_xl,
    unconditional,
    video_transformers,
    video_unets,
    wan,
    world_models,
)
from .small_pipeline import SmallPipeline

__all__ = ["SMALL_PIPELINES", "SmallPipeline"]

_MODULES = (
    stable_diffusion,
    image_inputs,
    stable_diffusion_xl,
    kolors,
    stable_diffusion_3,
    adapters,
    controlnets,
    unconditional,
    flux,
    diffusion_transformers,
    joint_transformers,
    layered_text,
    hidream,
    qwen_image,
    kandinsky,
    cascades,
    masked_tokens,
    wan,
    video_transformers,
    world_models,
    video_unets,
    audio,
    runtime_options,
    quantized,
)

SMALL_PIPELINES: dict[str, SmallPipeline] = {
    pipeline.name: pipeline for module in _MODULES for pipeline in module.PIPELINES
}
