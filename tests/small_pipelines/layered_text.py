"""Transformers that read several layers of a language model: Flux 2 Klein, Krea 2, Bria FIBO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import qwen_image_autoencoder, wan_autoencoder
from .inputs import half_mask, seeded_image, short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .text_encoders import (
    DECODER_SIZES,
    TEXT_WIDTH,
    gemma3_for_conditional_generation,
    mistral3,
    qwen3_for_causal_lm,
    qwen3_vl,
)
from .text_tokenizers import gemma_tokenizer, llama_tokenizer, qwen_tokenizer
from .wan import video_run

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def _flux2_components(guidance_embeds: bool = False) -> Components:
    """The text is three hidden layers of a language model, side by side."""
    from diffusers import (
        AutoencoderKLFlux2,
        FlowMatchEulerDiscreteScheduler,
        Flux2Transformer2DModel,
    )

    transformer = Flux2Transformer2DModel(
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=3 * TEXT_WIDTH,
        axes_dims_rope=(4, 4, 4, 4),
        timestep_guidance_channels=16,
        guidance_embeds=guidance_embeds,
    )
    autoencoder = AutoencoderKLFlux2(
        block_out_channels=(8, 16),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        layers_per_block=1,
        latent_channels=4,
        norm_num_groups=4,
    )
    return {
        "transformer": transformer,
        "vae": autoencoder,
        "scheduler": FlowMatchEulerDiscreteScheduler(),
        "text_encoder": qwen3_for_causal_lm(),
        "tokenizer": qwen_tokenizer(),
    }


def _flux2_dev_components() -> Components:
    """The language model could read pictures, too; guidance is an input of the transformer."""
    return {**_flux2_components(guidance_embeds=True), "text_encoder": mistral3()}


def _flux2_klein_run(**changes: Any) -> Arguments:
    return short_run(
        height=32,
        width=32,
        text_encoder_out_layers=(0, 1, 2),
        max_sequence_length=64,
        **changes,
    )


def _krea2_components() -> Components:
    from diffusers import FlowMatchEulerDiscreteScheduler, Krea2Transformer2DModel

    transformer = Krea2Transformer2DModel(
        in_channels=16,
        num_layers=1,
        attention_head_dim=8,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=32,
        timestep_embed_dim=8,
        text_hidden_dim=TEXT_WIDTH,
        num_text_layers=3,
        text_num_attention_heads=2,
        text_num_key_value_heads=1,
        text_intermediate_size=16,
        num_layerwise_text_blocks=1,
        num_refiner_text_blocks=1,
        axes_dims_rope=(4, 2, 2),
    )
    return {
        "transformer": transformer,
        "vae": qwen_image_autoencoder(),
        "scheduler": FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
        "text_encoder": qwen3_vl(),
        "tokenizer": qwen_tokenizer(),
        "text_encoder_select_layers": (0, 1, 2),
    }


def _bria_fibo_components() -> Components:
    from diffusers import BriaFiboTransformer2DModel, FlowMatchEulerDiscreteScheduler

    transformer = BriaFiboTransformer2DModel(
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=8,
        num_attention_heads=2,
        joint_attention_dim=2 * TEXT_WIDTH,
        text_encoder_dim=TEXT_WIDTH,
        axes_dims_rope=[0, 4, 4],
    )
    autoencoder = wan_autoencoder(in_channels=12, out_channels=12, patch_size=2, scale_factor_spatial=16)
    return {
        "transformer": transformer,
        "vae": autoencoder,
        "scheduler": FlowMatchEulerDiscreteScheduler(),
        "text_encoder": _smollm3(),
        "tokenizer": llama_tokenizer(),
    }


def _smollm3() -> PreTrainedModel:
    from transformers import SmolLM3Config, SmolLM3ForCausalLM

    return SmolLM3ForCausalLM(SmolLM3Config(**DECODER_SIZES, pad_token_id=0))


def _ltx2_components() -> Components:
    """Video and audio made together, each stream attending to the other."""
    from diffusers import (
        AutoencoderKLLTX2Audio,
        FlowMatchEulerDiscreteScheduler,
        LTX2VideoTransformer3DModel,
    )
    from diffusers.pipelines.ltx2.vocoder import LTX2Vocoder

    transformer = LTX2VideoTransformer3DModel(
        in_channels=4,
        out_channels=4,
        num_attention_heads=2,
        attention_head_dim=8,
        cross_attention_dim=16,
        audio_in_channels=4,
        audio_out_channels=4,
        audio_num_attention_heads=2,
        audio_attention_head_dim=4,
        audio_cross_attention_dim=8,
        num_layers=1,
        caption_channels=TEXT_WIDTH,
        rope_type="split",
    )
    audio_autoencoder = AutoencoderKLLTX2Audio(
        base_channels=4,
        ch_mult=(1,),
        num_res_blocks=1,
        resolution=32,
        latent_channels=2,
        mel_bins=8,
    )
    vocoder = LTX2Vocoder(
        in_channels=16,
        hidden_channels=32,
        upsample_kernel_sizes=[4, 4],
        upsample_factors=[2, 2],
        resnet_kernel_sizes=[3],
        resnet_dilations=[[1, 3, 5]],
        output_sampling_rate=16000,
    )
    return {
        "transformer": transformer,
        "vae": _ltx2_autoencoder(),
        "audio_vae": audio_autoencoder,
        "vocoder": vocoder,
        "connectors": _ltx2_connectors(),
        "scheduler": FlowMatchEulerDiscreteScheduler(),
        "text_encoder": gemma3_for_conditional_generation(),
        "tokenizer": gemma_tokenizer(),
    }


def _ltx2_autoencoder() -> Any:
    from diffusers import AutoencoderKLLTX2Video

    return AutoencoderKLLTX2Video(
        latent_channels=4,
        block_out_channels=(8,),
        down_block_types=("LTX2VideoDownBlock3D",),
        decoder_block_out_channels=(8,),
        layers_per_block=(1,),
        decoder_layers_per_block=(1, 1),
        spatio_temporal_scaling=(True,),
        decoder_spatio_temporal_scaling=(True,),
        decoder_inject_noise=(False, False),
        downsample_type=("spatial",),
        upsample_residual=(False,),
        upsample_factor=(1,),
        patch_size=1,
        decoder_causal=False,
    )


def _ltx2_connectors() -> Any:
    from diffusers.pipelines.ltx2 import LTX2TextConnectors

    return LTX2TextConnectors(
        caption_channels=TEXT_WIDTH,
        text_proj_in_factor=DECODER_SIZES["num_hidden_layers"] + 1,
        video_connector_num_attention_heads=4,
        video_connector_attention_head_dim=8,
        video_connector_num_layers=1,
        video_connector_num_learnable_registers=None,
        audio_connector_num_attention_heads=4,
        audio_connector_attention_head_dim=8,
        audio_connector_num_layers=1,
        audio_connector_num_learnable_registers=None,
        connector_rope_base_seq_len=32,
        rope_type="split",
    )


def _ltx2_arguments() -> Arguments:
    return video_run(
        height=32,
        width=32,
        num_frames=5,
        max_sequence_length=48,
        spatio_temporal_guidance_blocks=[0],
        use_cross_timestep=False,
    )


PIPELINES = (
    SmallPipeline("flux2", "mmdit", "Flux2Pipeline", _flux2_dev_components, _flux2_klein_run),
    SmallPipeline("flux2-klein", "mmdit", "Flux2KleinPipeline", _flux2_components, _flux2_klein_run),
    SmallPipeline(
        "flux2-klein-edit",
        "img2img",
        "Flux2KleinPipeline",
        _flux2_components,
        lambda: _flux2_klein_run(image=seeded_image(64)),
    ),
    SmallPipeline(
        "flux2-klein-inpaint",
        "inpaint",
        "Flux2KleinInpaintPipeline",
        _flux2_components,
        lambda: _flux2_klein_run(image=seeded_image(32), mask_image=half_mask(32)),
    ),
    SmallPipeline(
        "krea2",
        "mmdit",
        "Krea2Pipeline",
        _krea2_components,
        lambda: short_run(height=32, width=32, max_sequence_length=64),
    ),
    SmallPipeline(
        "bria-fibo",
        "mmdit",
        "BriaFiboPipeline",
        _bria_fibo_components,
        # The token of an empty prompt is fixed and far beyond this vocabulary.
        lambda: short_run(height=32, width=32, negative_prompt="blurred"),
    ),
    SmallPipeline("ltx2", "video", "LTX2Pipeline", _ltx2_components, _ltx2_arguments),
)
