"""The parts of the model, untrained: a Stable Diffusion pipeline, only very small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
from diffusers.models.attention_processor import Attention
from diffusers.models.resnet import ResnetBlock2D
from tokenizers.pre_tokenizers import ByteLevel
from torch import nn
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

from training.shapes.drawing import SIDE, words

TOKENS = 32
"""The length that every prompt is padded or cut to."""
TEXT_WIDTH = 64
LATENT_SIDE = SIDE // 4


def new_pipeline() -> StableDiffusionPipeline:
    """The pipeline with fresh weights from torch's random generator."""
    tokenizer = new_tokenizer(words())
    return StableDiffusionPipeline(
        vae=_new_vae(),
        text_encoder=_new_text_encoder(tokenizer),
        tokenizer=tokenizer,
        unet=_new_unet(),
        scheduler=_new_scheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def new_tokenizer(known: Sequence[str]) -> CLIPTokenizer:
    """CLIP's tokenizer with one token for each known word; any other text is spelled in single bytes."""
    merges = _merges(known)
    letters = sorted(ByteLevel.alphabet())
    tokens = [*letters, *(f"{letter}</w>" for letter in letters), *("".join(pair) for pair in merges)]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    return CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=TOKENS)


def _merges(known: Sequence[str]) -> list[tuple[str, str]]:
    """Byte-pair encoding, learned until each known word is one piece: the most frequent pair is joined first."""
    pieces = [[*word[:-1], f"{word[-1]}</w>"] for word in known]
    merges: list[tuple[str, str]] = []
    while any(len(word) > 1 for word in pieces):
        counts = Counter(pair for word in pieces for pair in pairwise(word))
        pair = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(pair)
        pieces = [_joined(word, pair) for word in pieces]
    return merges


def _joined(word: list[str], pair: tuple[str, str]) -> list[str]:
    joined: list[str] = []
    for piece in word:
        if joined and (joined[-1], piece) == pair:
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def _new_text_encoder(tokenizer: CLIPTokenizer) -> CLIPTextModel:
    return CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(tokenizer),
            hidden_size=TEXT_WIDTH,
            intermediate_size=4 * TEXT_WIDTH,
            projection_dim=TEXT_WIDTH,
            num_hidden_layers=3,
            num_attention_heads=4,
            max_position_embeddings=TOKENS,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def _new_vae() -> AutoencoderKL:
    vae = AutoencoderKL(
        block_out_channels=(16, 32, 64),
        down_block_types=("DownEncoderBlock2D",) * 3,
        up_block_types=("UpDecoderBlock2D",) * 3,
        layers_per_block=1,
        norm_num_groups=4,
        latent_channels=4,
        sample_size=SIDE,
    )
    _start_simple(vae)
    # The second half of what the encoder says is how sure it is: at first, quite.
    vae.quant_conv.bias.data[4:] = -6.0
    return vae


def _start_simple(vae: AutoencoderKL) -> None:
    """Hardly more than a linear map, to which each block learns to add something.

    From the usual start it takes several times as many steps until the colours are right.
    """
    for module in vae.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="linear")
            assert module.bias is not None
            nn.init.zeros_(module.bias)
    for module in vae.modules():
        if isinstance(module, ResnetBlock2D):
            nn.init.zeros_(module.conv2.weight)
        elif isinstance(module, Attention):
            nn.init.zeros_(module.to_out[0].weight)


def _new_unet() -> UNet2DConditionModel:
    return UNet2DConditionModel(
        sample_size=LATENT_SIDE,
        block_out_channels=(32, 64, 64),
        # Attention over the 256 places of the finest level would cost more than all the rest.
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        layers_per_block=1,
        norm_num_groups=4,
        cross_attention_dim=TEXT_WIDTH,
        attention_head_dim=4,
    )


def _new_scheduler() -> DDIMScheduler:
    """Its last step is pure noise; with a trace of the picture left in it, no background gets quite white or black."""
    return DDIMScheduler(
        beta_schedule="linear",
        beta_start=0.0001,
        beta_end=0.02,
        prediction_type="v_prediction",
        rescale_betas_zero_snr=True,
        timestep_spacing="trailing",
        clip_sample=False,
        steps_offset=1,
    )
