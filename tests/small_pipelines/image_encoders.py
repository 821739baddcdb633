"""Tiny image encoders and the processors that feed them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .text_encoders import TEXT_WIDTH

if TYPE_CHECKING:
    from transformers import PreTrainedModel

IMAGE_ENCODER_SIZE = 28


def clip_image_encoder(**changes: Any) -> PreTrainedModel:
    from transformers import CLIPVisionConfig, CLIPVisionModelWithProjection

    sizes = {
        "hidden_size": TEXT_WIDTH,
        "projection_dim": TEXT_WIDTH,
        "intermediate_size": 37,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "image_size": IMAGE_ENCODER_SIZE,
        "patch_size": 14,
    }
    return CLIPVisionModelWithProjection(CLIPVisionConfig(**{**sizes, **changes}))


def siglip_image_encoder() -> PreTrainedModel:
    from transformers import SiglipVisionConfig, SiglipVisionModel

    return SiglipVisionModel(
        SiglipVisionConfig(
            hidden_size=TEXT_WIDTH,
            intermediate_size=37,
            num_hidden_layers=2,
            num_attention_heads=4,
            image_size=IMAGE_ENCODER_SIZE,
            patch_size=14,
        )
    )


def clip_image_processor() -> Any:
    from transformers import CLIPImageProcessor

    return CLIPImageProcessor(
        size={"shortest_edge": IMAGE_ENCODER_SIZE},
        crop_size={"height": IMAGE_ENCODER_SIZE, "width": IMAGE_ENCODER_SIZE},
    )
