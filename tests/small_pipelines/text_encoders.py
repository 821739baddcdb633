"""Tiny text encoders, all of the same width, for the tokenizers in `text_tokenizers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .text_tokenizers import VOCABULARY_SIZE, qwen_token_id

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TEXT_WIDTH = 32

DECODER_SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY_SIZE,
    "hidden_size": TEXT_WIDTH,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def clip_text_encoder() -> PreTrainedModel:
    from transformers import CLIPTextModel

    return CLIPTextModel(_clip_text_config())


def clip_text_encoder_with_projection(**changes: Any) -> PreTrainedModel:
    from transformers import CLIPTextModelWithProjection

    return CLIPTextModelWithProjection(_clip_text_config(**changes))


def _clip_text_config(**changes: Any) -> Any:
    from transformers import CLIPTextConfig

    sizes = {
        "vocab_size": VOCABULARY_SIZE,
        "hidden_size": TEXT_WIDTH,
        "projection_dim": TEXT_WIDTH,
        "intermediate_size": 37,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 1,
    }
    return CLIPTextConfig(**{**sizes, **changes})


def t5_encoder() -> PreTrainedModel:
    from transformers import T5Config, T5EncoderModel

    return T5EncoderModel(T5Config(**_t5_sizes()))


def umt5_encoder() -> PreTrainedModel:
    from transformers import UMT5Config, UMT5EncoderModel

    return UMT5EncoderModel(UMT5Config(**_t5_sizes()))


def _t5_sizes() -> dict[str, Any]:
    return {
        "vocab_size": VOCABULARY_SIZE,
        "d_model": TEXT_WIDTH,
        "d_kv": 8,
        "d_ff": 37,
        "num_layers": 2,
        "num_heads": 4,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "feed_forward_proj": "gated-gelu",
    }


def gemma2_model() -> PreTrainedModel:
    from transformers import Gemma2Config, Gemma2Model

    return Gemma2Model(Gemma2Config(**DECODER_SIZES, head_dim=8))


def t5_gemma_encoder() -> PreTrainedModel:
    from transformers import T5GemmaConfig, T5GemmaEncoderModel

    encoder_sizes = {**DECODER_SIZES, "head_dim": 8}
    return T5GemmaEncoderModel(T5GemmaConfig(encoder=encoder_sizes, is_encoder_decoder=False))


def llama_model() -> PreTrainedModel:
    from transformers import LlamaConfig, LlamaModel

    return LlamaModel(LlamaConfig(**DECODER_SIZES))


def llama_for_causal_lm() -> PreTrainedModel:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(**DECODER_SIZES))


def gemma_model() -> PreTrainedModel:
    from transformers import GemmaConfig, GemmaModel

    return GemmaModel(GemmaConfig(**DECODER_SIZES, head_dim=8))


def glm_model() -> PreTrainedModel:
    from transformers import GlmConfig, GlmModel

    return GlmModel(GlmConfig(**DECODER_SIZES, head_dim=8, pad_token_id=0))


def bert_model() -> PreTrainedModel:
    from transformers import BertConfig, BertModel

    sizes = {name: DECODER_SIZES[name] for name in DECODER_SIZES if name != "num_key_value_heads"}
    return BertModel(BertConfig(**sizes))


def qwen3_model() -> PreTrainedModel:
    from transformers import Qwen3Config, Qwen3Model

    return Qwen3Model(Qwen3Config(**DECODER_SIZES, head_dim=8))


def qwen3_for_causal_lm() -> PreTrainedModel:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    return Qwen3ForCausalLM(Qwen3Config(**DECODER_SIZES, head_dim=8))


def gemma3_for_conditional_generation() -> PreTrainedModel:
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration

    vision_sizes = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 28,
        "patch_size": 14,
    }
    config = Gemma3Config(
        text_config={**DECODER_SIZES, "head_dim": 8},
        vision_config=vision_sizes,
        mm_tokens_per_image=4,
    )
    return Gemma3ForConditionalGeneration(config)


def qwen3_vl() -> PreTrainedModel:
    from transformers import Qwen3VLConfig, Qwen3VLModel

    vision_sizes = {
        "depth": 1,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_heads": 2,
        "out_hidden_size": TEXT_WIDTH,
        "deepstack_visual_indexes": [0],
    }
    config = Qwen3VLConfig(
        text_config={**DECODER_SIZES, "head_dim": 8, **QWEN_ROTARY},
        vision_config=vision_sizes,
        **_qwen_tokens(),
    )
    return Qwen3VLModel(config)


def qwen2_vl() -> PreTrainedModel:
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

    vision_sizes = {
        "depth": 1,
        "embed_dim": 16,
        "num_heads": 2,
        "mlp_ratio": 2,
        "hidden_size": TEXT_WIDTH,
    }
    config = Qwen2VLConfig(text_config={**DECODER_SIZES, **QWEN_ROTARY}, vision_config=vision_sizes, **_qwen_tokens())
    return Qwen2VLForConditionalGeneration(config)


def mistral3() -> PreTrainedModel:
    """A vision-language model of which only the text part is called."""
    from transformers import Mistral3Config, Mistral3ForConditionalGeneration

    vision_sizes = {
        "model_type": "pixtral",
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 28,
        "patch_size": 14,
    }
    return Mistral3ForConditionalGeneration(
        Mistral3Config(text_config={"model_type": "mistral", **DECODER_SIZES}, vision_config=vision_sizes)
    )


def qwen2_5_vl(**changes: Any) -> PreTrainedModel:
    """A vision-language model whose image tokens are those of the Qwen tokenizer."""
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    text_sizes = {**DECODER_SIZES, **QWEN_ROTARY, **changes}
    vision_sizes = {
        "depth": 2,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_heads": 2,
        "out_hidden_size": text_sizes["hidden_size"],
        "fullatt_block_indexes": [1],
    }
    config = Qwen2_5_VLConfig(
        text_config=text_sizes,
        vision_config=vision_sizes,
        **_qwen_tokens(),
    )
    return Qwen2_5_VLForConditionalGeneration(config)


def qwen2_5_vl_text_model(**changes: Any) -> PreTrainedModel:
    from transformers import Qwen2_5_VLTextConfig, Qwen2_5_VLTextModel

    return Qwen2_5_VLTextModel(Qwen2_5_VLTextConfig(**{**DECODER_SIZES, **QWEN_ROTARY, **changes}))


QWEN_ROTARY: dict[str, Any] = {"rope_scaling": {"rope_type": "default", "mrope_section": [1, 1, 2]}}


def _qwen_tokens() -> dict[str, int]:
    return {
        "image_token_id": qwen_token_id("<|image_pad|>"),
        "video_token_id": qwen_token_id("<|video_pad|>"),
        "vision_start_token_id": qwen_token_id("<|vision_start|>"),
        "vision_end_token_id": qwen_token_id("<|vision_end|>"),
    }
