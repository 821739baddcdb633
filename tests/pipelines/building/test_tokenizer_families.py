"""The family of a tokenizer."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.pipelines.building.tokenizer_families import FAMILIES, UNKNOWN, encoder_of, family_of
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan


def blueprint(**parts: tuple[str, dict[str, Any]]) -> Blueprint:
    plans = {slot: PartPlan(slot, "transformers", name, config) for slot, (name, config) in parts.items()}
    return Blueprint("m", "folder", "Pipeline", plans)


@pytest.mark.parametrize(
    ("tokenizer", "encoder", "vocabulary"),
    [
        ("CLIPTokenizer", "CLIPTextModel", 49408),
        ("T5TokenizerFast", "UMT5EncoderModel", 256384),
        ("T5TokenizerFast", "T5EncoderModel", 32128),
        ("Qwen2Tokenizer", "Qwen2_5_VLForConditionalGeneration", 151936),
        ("LlamaTokenizerFast", "LlamaModel", 128320),
        ("PreTrainedTokenizerFast", "ChatGLMModel", 65024),
        ("PreTrainedTokenizerFast", "Gemma2Model", 256000),
    ],
)
def test_the_class_or_else_the_encoder_says_it(tokenizer: str, encoder: str, vocabulary: int) -> None:
    found = blueprint(tokenizer=(tokenizer, {}), text_encoder=(encoder, {}))
    assert family_of(found, found.parts["tokenizer"]) in FAMILIES.values()
    assert family_of(found, found.parts["tokenizer"]).vocab_size == vocabulary


def test_the_class_in_a_file_counts_too() -> None:
    found = blueprint(tokenizer=("AutoTokenizer", {"tokenizer_class": "RobertaTokenizer"}))
    assert family_of(found, found.parts["tokenizer"]).special_tokens["<s>"] == 0


def test_a_family_that_nobody_knows_has_usual_tokens() -> None:
    found = blueprint(tokenizer=("StrangeTokenizer", {}), text_encoder=("StrangeModel", {}))
    assert family_of(found, found.parts["tokenizer"]) is UNKNOWN


def test_a_tokenizer_belongs_to_the_encoder_of_its_number() -> None:
    found = blueprint(
        tokenizer=("A", {}), tokenizer_2=("B", {}), text_encoder=("One", {}), text_encoder_2=("Two", {})
    )  # fmt: skip
    encoders = [encoder_of(found, found.parts[slot]) for slot in ("tokenizer", "tokenizer_2")]
    assert [one.class_name for one in encoders if one] == ["One", "Two"]
    alone = blueprint(tokenizer=("A", {}))
    assert encoder_of(alone, alone.parts["tokenizer"]) is None
