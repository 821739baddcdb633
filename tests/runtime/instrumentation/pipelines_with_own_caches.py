"""Two small pipelines for caches that only they have: Nucleus for its texts, Cosmos 3 for its whole stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.small_pipelines.autoencoders import qwen_image_autoencoder, wan_autoencoder
from tests.small_pipelines.inputs import seeded_tensor, short_run
from tests.small_pipelines.small_pipeline import Arguments, Components, SmallPipeline
from tests.small_pipelines.text_encoders import TEXT_WIDTH
from tests.small_pipelines.text_tokenizers import qwen_tokenizer

if TYPE_CHECKING:
    from diffusers import ModelMixin


def _nucleus_components() -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler, NucleusMoEImageTransformer2DModel

    transformer = NucleusMoEImageTransformer2DModel(
        in_channels=16,
        out_channels=4,
        num_layers=2,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=TEXT_WIDTH,
        axes_dims_rope=(8, 4, 4),
        mlp_ratio=6.0,
        moe_enabled=False,
    )
    return {
        "transformer": transformer,
        "scheduler": FlowMatchEulerDiscreteScheduler(),
        "vae": qwen_image_autoencoder(),
        "text_encoder": None,
        "processor": None,
    }


def _nucleus_run() -> Arguments:
    """The two texts are of different lengths."""
    return short_run(
        prompt=None,
        prompt_embeds=seeded_tensor(1, 8, TEXT_WIDTH),
        negative_prompt_embeds=seeded_tensor(1, 5, TEXT_WIDTH),
        height=32,
        width=32,
        num_inference_steps=4,
    )


def _cosmos_3_transformer() -> ModelMixin:
    from diffusers import Cosmos3OmniTransformer

    patch = 2
    return Cosmos3OmniTransformer(
        head_dim=16,
        hidden_size=32,
        intermediate_size=32,
        latent_channel=16,
        latent_patch_size=patch,
        patch_latent_dim=16 * patch * patch,
        num_attention_heads=2,
        num_hidden_layers=2,
        num_key_value_heads=1,
        vocab_size=512,
        rope_axes_dim=(4, 2, 2),
    )


def _cosmos_3_components() -> Components:
    from diffusers import UniPCMultistepScheduler

    return {
        "transformer": _cosmos_3_transformer(),
        "text_tokenizer": qwen_tokenizer(),
        "vae": wan_autoencoder(),
        "scheduler": UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=1.0),
        "enable_safety_checker": False,
        "default_use_system_prompt": False,
    }


NUCLEUS = SmallPipeline("nucleus", "dit", "NucleusMoEImagePipeline", _nucleus_components, _nucleus_run)
COSMOS_3 = SmallPipeline(
    "cosmos-3",
    "video",
    "Cosmos3OmniPipeline",
    _cosmos_3_components,
    lambda: short_run(height=32, width=32, num_frames=5, num_inference_steps=8),
)
