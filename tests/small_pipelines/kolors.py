"""Kolors: the UNet of Stable Diffusion XL with ChatGLM as its only text encoder."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from .autoencoders import image_autoencoder
from .image_inputs import image_run
from .inputs import short_run
from .small_pipeline import Components, SmallPipeline
from .stable_diffusion import BETAS
from .stable_diffusion_xl import stable_diffusion_xl_unet
from .text_encoders import TEXT_WIDTH
from .text_tokenizers import CHARACTERS, VOCABULARY_SIZE

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizer


def _components() -> Components:
    from diffusers import EulerDiscreteScheduler

    return {
        "vae": image_autoencoder(),
        "text_encoder": _chatglm_model(),
        "tokenizer": _chatglm_tokenizer(),
        "unet": stable_diffusion_xl_unet(cross_attention_dim=TEXT_WIDTH),
        "scheduler": EulerDiscreteScheduler(**BETAS),
    }


def _chatglm_model() -> PreTrainedModel:
    from diffusers.pipelines.kolors import ChatGLMModel
    from diffusers.pipelines.kolors.text_encoder import ChatGLMConfig

    config = ChatGLMConfig(
        num_layers=2,
        padded_vocab_size=VOCABULARY_SIZE,
        hidden_size=TEXT_WIDTH,
        ffn_hidden_size=37,
        kv_channels=8,
        num_attention_heads=4,
        multi_query_attention=True,
        multi_query_group_num=2,
        add_qkv_bias=True,
        seq_length=256,
        original_rope=True,
    )
    model = ChatGLMModel(config, empty_init=False)
    _fill_norms(model)
    return model


def _fill_norms(model: PreTrainedModel) -> None:
    """The model leaves these weights as the memory was; a checkpoint would fill them."""
    import torch
    from diffusers.pipelines.kolors.text_encoder import RMSNorm

    for module in model.modules():
        if isinstance(module, RMSNorm):
            torch.nn.init.ones_(module.weight)


def _chatglm_tokenizer() -> PreTrainedTokenizer:
    from diffusers.pipelines.kolors import ChatGLMTokenizer

    vocabulary_file = Path(_vocabulary_folder().name, "tokenizer.model")
    return ChatGLMTokenizer(vocab_file=str(vocabulary_file))


@cache
def _vocabulary_folder() -> TemporaryDirectory[str]:
    """A folder, kept until the interpreter exits, with a vocabulary of single characters.

    The tokenizer reads its vocabulary from a file, and copies that file when it is saved.
    """
    from sentencepiece import SentencePieceTrainer

    folder = TemporaryDirectory()
    SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(CHARACTERS)]),
        model_prefix=str(Path(folder.name, "tokenizer")),
        model_type="char",
        vocab_size=len(CHARACTERS) + 4,
        character_coverage=1.0,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return folder


PIPELINES = (
    SmallPipeline("kolors", "unet", "KolorsPipeline", _components, short_run),
    SmallPipeline("kolors-img2img", "img2img", "KolorsImg2ImgPipeline", _components, image_run),
    SmallPipeline(
        "kolors-perturbed-attention",
        "unet",
        "KolorsPAGPipeline",
        _components,
        lambda: short_run(pag_scale=3.0),
    ),
)
