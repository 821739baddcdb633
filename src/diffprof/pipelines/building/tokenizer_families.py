"""Defaults of tokenizer families for folders without the files: lengths, special tokens, template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from diffprof.catalogue import TokenizerFacts
from diffprof.pipelines.building import chat_templates
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan

UNKNOWN = TokenizerFacts(
    512, 32000, special_tokens={"<pad>": 0, "</s>": 1, "<unk>": 2},
    roles={"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}, chat_template=chat_templates.PLAIN,
)  # fmt: skip


def family_of(blueprint: Blueprint, plan: PartPlan) -> TokenizerFacts:
    """Return the family of a tokenizer: by its class if possible, else by the text encoder that it serves."""
    config: Mapping[str, Any] = plan.config
    own = [plan.class_name, *(str(config.get(name) or "") for name in ("tokenizer_class", "processor_class"))]
    encoder = encoder_of(blueprint, plan)
    names = [] if encoder is None else [encoder.class_name, str(encoder.config.get("model_type") or "")]
    for words, facts in FAMILIES.items():
        searched = own if words[0].startswith("=") else (*names, *own)
        for name in searched:
            if any(word.removeprefix("=") in name.lower().replace("_", "") for word in words):
                return facts
    return UNKNOWN


def encoder_of(blueprint: Blueprint, plan: PartPlan) -> PartPlan | None:
    """Return the model that reads the token ids of a tokenizer or processor."""
    parts = blueprint.parts
    slot = plan.slot
    names = [
        slot.replace("text_tokenizer", "text_encoder").replace("tokenizer", "text_encoder"),
        slot.replace("tokenizer", "encoder"),
        slot.removesuffix("_tokenizer"),
        "vision_language_encoder",
        "text_encoder",
        "model",
        "transformer" if slot == "text_tokenizer" else "text_encoder",
    ]
    return next((parts[name] for name in names if name in parts and name != slot), None)


QWEN_TOKENS = {
    "<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645, "<|object_ref_start|>": 151646,
    "<|object_ref_end|>": 151647, "<|box_start|>": 151648, "<|box_end|>": 151649, "<|quad_start|>": 151650,
    "<|quad_end|>": 151651, "<|vision_start|>": 151652, "<|vision_end|>": 151653, "<|vision_pad|>": 151654,
    "<|image_pad|>": 151655, "<|video_pad|>": 151656,
}  # fmt: skip
QWEN_3_TOKENS = {**QWEN_TOKENS, "<think>": 151667, "</think>": 151668}
QWEN_ROLES = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}


def _qwen(template: str, tokens: Mapping[str, int] = QWEN_TOKENS) -> TokenizerFacts:
    return TokenizerFacts(131072, 151936, special_tokens=tokens, roles=QWEN_ROLES, chat_template=template)


GEMMA_ROLES = {"pad_token": "<pad>", "eos_token": "<eos>", "bos_token": "<bos>", "unk_token": "<unk>"}


def _gemma(vocabulary: int, turn: int, **others: int) -> TokenizerFacts:
    tokens = {"<pad>": 0, "<eos>": 1, "<bos>": 2, "<unk>": 3, "<start_of_turn>": turn, "<end_of_turn>": turn + 1}
    return TokenizerFacts(
        10**15, vocabulary, ("bos_token",), (), special_tokens={**tokens, **others}, roles=GEMMA_ROLES,
        chat_template=chat_templates.GEMMA,
    )  # fmt: skip


T5_ROLES = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
ROBERTA = TokenizerFacts(
    512, 50265, ("<s>",), ("</s>",), special_tokens={"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3},
    roles={"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>",
           "sep_token": "</s>"},
)  # fmt: skip

FAMILIES: dict[tuple[str, ...], TokenizerFacts] = {
    ("=clip",): TokenizerFacts(
        77, 49408, ("bos_token",), ("eos_token",),
        special_tokens={"<|startoftext|>": 49406, "<|endoftext|>": 49407},
        roles={"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>",
               "unk_token": "<|endoftext|>"},
    ),
    ("=xlmroberta",): replace(ROBERTA, model_max_length=77, vocab_size=250002),  # as in AltDiffusion
    ("=roberta",): ROBERTA,
    ("=berttoken",): TokenizerFacts(
        77, 47020, ("[CLS]",), ("[SEP]",), special_tokens={"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102},
        roles={"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"},
    ),
    ("=gpt2",): TokenizerFacts(
        1024, 50257, special_tokens={"<|endoftext|>": 50256},
        roles={"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"},
    ),
    ("umt5", "mt5"): TokenizerFacts(
        512, 256384, (), ("eos_token",), special_tokens={"<pad>": 0, "</s>": 1, "<s>": 2, "<unk>": 3}, roles=T5_ROLES,
    ),
    ("t5",): TokenizerFacts(
        512, 32128, (), ("eos_token",), special_tokens={"<pad>": 0, "</s>": 1, "<unk>": 2}, roles=T5_ROLES,
    ),
    ("clap",): ROBERTA,
    ("gemma3", "gemma4", "t5gemma"): _gemma(262208, 105, **{"<start_of_image>": 255999}),
    ("gemma",): _gemma(256000, 106),
    ("qwen3vl", "qwen35"): _qwen(chat_templates.QWEN_3_VL, QWEN_3_TOKENS),
    ("qwen3",): _qwen(chat_templates.QWEN_3, QWEN_3_TOKENS),
    ("qwen2vl", "qwen25vl"): _qwen(chat_templates.QWEN_2_VL),
    ("qwen",): _qwen(chat_templates.QWEN_2_5),
    ("mistral", "pixtral", "ministral"): TokenizerFacts(
        10**15, 131072, ("bos_token",), (),
        special_tokens={"<unk>": 0, "<s>": 1, "</s>": 2, "[INST]": 3, "[/INST]": 4, "[IMG]": 10, "<pad>": 11,
                        "[IMG_BREAK]": 12, "[IMG_END]": 13, "[SYSTEM_PROMPT]": 17, "[/SYSTEM_PROMPT]": 18},
        roles={"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"},
        chat_template=chat_templates.MISTRAL,
    ),
    ("chatglm",): TokenizerFacts(
        10**15, 65024, ("[gMASK]", "sop"), (), padding_side="left",
        special_tokens={"<unk>": 0, "<bos>": 1, "</s>": 2, "[MASK]": 64789, "[gMASK]": 64790, "[sMASK]": 64791,
                        "sop": 64792, "eop": 64793},
        roles={"eos_token": "</s>", "pad_token": "<unk>", "unk_token": "<unk>"},
    ),
    ("glm",): TokenizerFacts(
        128000, 151552, ("[gMASK]", "<sop>"), (), padding_side="left",
        special_tokens={"<|endoftext|>": 151329, "[gMASK]": 151331, "<sop>": 151333, "<|system|>": 151335,
                        "<|user|>": 151336, "<|assistant|>": 151337},
        roles={"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}, chat_template=chat_templates.GLM,
    ),
    ("llama", "llava"): TokenizerFacts(
        10**15, 128320, ("bos_token",), (),
        special_tokens={"<|begin_of_text|>": 128000, "<|end_of_text|>": 128001, "<|start_header_id|>": 128006,
                        "<|end_header_id|>": 128007, "<|eot_id|>": 128009, "<image>": 128257, "<pad>": 128258},
        roles={"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>", "pad_token": "<pad>"},
        chat_template=chat_templates.LLAMA_3,
    ),
    ("bert",): ROBERTA,
}  # fmt: skip
"""By part of a class name or model type, the first match; after ``=`` only the tokenizer's own class matters."""
