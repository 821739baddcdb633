"""Audio from text: Stable Audio, AudioLDM 2 and ACE-Step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import image_autoencoder
from .inputs import PROMPT, seeded_generator
from .small_pipeline import Arguments, Components, SmallPipeline
from .stable_diffusion import ddim_scheduler
from .text_encoders import TEXT_WIDTH, qwen3_model, t5_encoder
from .text_tokenizers import VOCABULARY_SIZE, qwen_tokenizer, roberta_tokenizer, t5_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def _audio_run() -> Arguments:
    return {"prompt": PROMPT, "num_inference_steps": 2, "generator": seeded_generator()}


def _stable_audio_components() -> Components:
    from diffusers import (
        AutoencoderOobleck,
        EDMDPMSolverMultistepScheduler,
        StableAudioDiTModel,
        StableAudioProjectionModel,
    )

    transformer = StableAudioDiTModel(
        sample_size=8,
        in_channels=3,
        out_channels=3,
        num_layers=2,
        attention_head_dim=4,
        num_attention_heads=4,
        num_key_value_attention_heads=2,
        cross_attention_dim=8,
        time_proj_dim=8,
        global_states_input_dim=8,
        cross_attention_input_dim=4,
    )
    autoencoder = AutoencoderOobleck(
        encoder_hidden_size=6,
        downsampling_ratios=[1, 2],
        channel_multiples=[2, 4],
        decoder_channels=3,
        decoder_input_channels=3,
        sampling_rate=4,
    )
    return {
        "transformer": transformer,
        "vae": autoencoder,
        "scheduler": EDMDPMSolverMultistepScheduler(),
        "text_encoder": t5_encoder(),
        "tokenizer": t5_tokenizer(model_max_length=48),
        "projection_model": StableAudioProjectionModel(
            text_encoder_dim=TEXT_WIDTH, conditioning_dim=4, min_value=0, max_value=32
        ),
    }


LANGUAGE_WIDTH = 16


def _audioldm2_components() -> Components:
    """Two text encoders feed a language model whose words steer a UNet over spectrograms."""
    from diffusers import AudioLDM2ProjectionModel, AudioLDM2UNet2DConditionModel
    from transformers import ClapFeatureExtractor

    unet = AudioLDM2UNet2DConditionModel(
        block_out_channels=(8, 16),
        norm_num_groups=8,
        layers_per_block=1,
        sample_size=8,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=([None, LANGUAGE_WIDTH, TEXT_WIDTH],) * 2,
    )
    return {
        "unet": unet,
        "scheduler": ddim_scheduler(),
        "vae": image_autoencoder(in_channels=1, out_channels=1),
        "text_encoder": _clap_model(),
        "tokenizer": roberta_tokenizer(),
        "feature_extractor": ClapFeatureExtractor(hop_length=7900),
        "text_encoder_2": t5_encoder(),
        "tokenizer_2": t5_tokenizer(model_max_length=48),
        "language_model": _language_model(),
        "projection_model": AudioLDM2ProjectionModel(
            text_encoder_dim=LANGUAGE_WIDTH,
            text_encoder_1_dim=TEXT_WIDTH,
            langauge_model_dim=LANGUAGE_WIDTH,
        ),
        "vocoder": _vocoder(),
    }


def _clap_model() -> PreTrainedModel:
    from transformers import ClapConfig, ClapModel

    text_sizes = {
        "vocab_size": VOCABULARY_SIZE,
        "hidden_size": LANGUAGE_WIDTH,
        "intermediate_size": 37,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
        "projection_dim": LANGUAGE_WIDTH,
    }
    audio_sizes = {
        "spec_size": 64,
        "window_size": 4,
        "num_mel_bins": 64,
        "depths": [2, 2],
        "num_attention_heads": [2, 2],
        "num_hidden_layers": 2,
        "hidden_size": 192,
        "projection_dim": LANGUAGE_WIDTH,
        "patch_size": 2,
        "patch_stride": 2,
        "patch_embed_input_channels": 4,
    }
    return ClapModel(ClapConfig(text_config=text_sizes, audio_config=audio_sizes, projection_dim=LANGUAGE_WIDTH))


def _language_model() -> PreTrainedModel:
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(
        GPT2Config(
            n_embd=LANGUAGE_WIDTH,
            n_head=2,
            n_layer=2,
            n_positions=99,
            vocab_size=VOCABULARY_SIZE,
        )
    )
    model.config.max_new_tokens = 4
    return model


def _vocoder() -> PreTrainedModel:
    from transformers import SpeechT5HifiGan, SpeechT5HifiGanConfig

    return SpeechT5HifiGan(
        SpeechT5HifiGanConfig(
            model_in_dim=8,
            upsample_initial_channel=16,
            upsample_rates=[2, 2],
            upsample_kernel_sizes=[4, 4],
            resblock_kernel_sizes=[3, 7],
            resblock_dilation_sizes=[[1, 3, 5], [1, 3, 5]],
            normalize_before=False,
        )
    )


def _ace_step_components() -> Components:
    from diffusers import (
        AceStepTransformer1DModel,
        AutoencoderOobleck,
        FlowMatchEulerDiscreteScheduler,
    )
    from diffusers.pipelines.ace_step import AceStepConditionEncoder

    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "sliding_window": 16,
    }
    latent_channels = 8
    autoencoder = AutoencoderOobleck(
        encoder_hidden_size=6,
        downsampling_ratios=[1, 2],
        channel_multiples=[2, 4],
        decoder_channels=3,
        decoder_input_channels=latent_channels,
        sampling_rate=4,
    )
    return {
        "transformer": AceStepTransformer1DModel(
            **sizes,
            num_hidden_layers=2,
            in_channels=3 * latent_channels,
            audio_acoustic_hidden_dim=latent_channels,
        ),
        "condition_encoder": AceStepConditionEncoder(
            **sizes,
            text_hidden_dim=TEXT_WIDTH,
            timbre_hidden_dim=latent_channels,
            num_lyric_encoder_hidden_layers=1,
            num_timbre_encoder_hidden_layers=1,
        ),
        "vae": autoencoder,
        "text_encoder": qwen3_model(),
        "tokenizer": qwen_tokenizer(),
        "scheduler": FlowMatchEulerDiscreteScheduler(num_train_timesteps=1),
    }


PIPELINES = (
    SmallPipeline("stable-audio", "audio", "StableAudioPipeline", _stable_audio_components, _audio_run),
    SmallPipeline("audioldm2", "audio", "AudioLDM2Pipeline", _audioldm2_components, _audio_run),
    SmallPipeline(
        "ace-step",
        "audio",
        "AceStepPipeline",
        _ace_step_components,
        lambda: {**_audio_run(), "lyrics": "by the sea", "audio_duration": 0.4},
    ),
)
