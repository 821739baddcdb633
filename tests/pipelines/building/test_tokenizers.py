"""A stand-in tokenizer gives the lengths, the special tokens and the chat template of the one it stands for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from diffprof import catalogue
from diffprof.catalogue import TokenizerFacts
from diffprof.errors import RequestError
from diffprof.pipelines.building.tokenizers import StandInTokenizer, tokenizer_of
from diffprof.pipelines.plans.blueprint import Blueprint, PartPlan


def of_model(name: str, slot: str = "tokenizer") -> StandInTokenizer:
    entry = catalogue.find(name)
    assert entry is not None
    facts = entry.components[slot].tokenizer
    assert facts is not None
    return StandInTokenizer(facts)


def ids(tokenizer: Any, text: str | list[str], **options: Any) -> list[Any]:
    return tokenizer(text, **options).input_ids


def test_clip_frames_a_text_and_pads_it_to_77() -> None:
    found = ids(of_model("sd-1.5"), "a cat", padding="max_length", max_length=77, truncation=True)
    assert len(found) == 77
    assert found[0] == 49406
    assert found[3:] == [49407] * 74


def test_t5_ends_a_text_and_pads_it_with_zeros() -> None:
    found = of_model("flux.1-dev", "tokenizer_2")("a cat", padding="max_length", max_length=512, truncation=True)
    assert len(found.input_ids) == 512
    assert found.input_ids[2:4] == [1, 0]
    assert sum(found.attention_mask) == 3


def test_gemma_adds_its_start_token_and_pads_on_the_side_of_its_model() -> None:
    tokenizer = of_model("sana-600m-512")
    assert ids(tokenizer, "a cat")[0] == 2
    entry = catalogue.find("sana-600m-512")
    assert entry is not None and entry.components["tokenizer"].tokenizer is not None
    padded = ids(tokenizer, ["a", "a cat sat"], padding=True)
    side = entry.components["tokenizer"].tokenizer.padding_side
    assert padded[0][0 if side == "left" else -1] == 0


ENTRIES_WITH_TOKENIZERS = [
    pytest.param(entry.name, slot, id=f"{entry.name} {slot}")
    for entry in catalogue.entries()
    for slot, part in entry.components.items()
    if part.tokenizer is not None
]


@pytest.mark.parametrize(("name", "slot"), ENTRIES_WITH_TOKENIZERS)
def test_every_tokenizer_of_the_catalogue_truncates_and_pads(name: str, slot: str) -> None:
    tokenizer = of_model(name, slot)
    if tokenizer.pad_token is None:  # Llama has none; pipelines pad with its end token
        tokenizer.pad_token = tokenizer.eos_token
    length = min(tokenizer.model_max_length, 64)
    options = {"padding": "max_length", "max_length": length, "truncation": True}
    short, long = ids(tokenizer, ["a cat", "a cat " * 500], **options)
    assert len(short) == len(long) == length
    assert all(number >= 0 for number in short + long)
    assert ids(tokenizer, "a cat") == ids(tokenizer, "a cat")


def test_the_template_of_qwen_image_has_34_tokens_before_the_prompt() -> None:
    """The pipeline drops the first 34 embeddings: with any other number it would drop words of the prompt."""
    from diffusers import QwenImagePipeline

    pipeline = QwenImagePipeline(scheduler=None, vae=None, text_encoder=None, tokenizer=None, transformer=None)
    before, _, after = pipeline.prompt_template_encode.partition("{}")
    tokenizer = of_model("qwen-image")
    assert len(ids(tokenizer, before)) == pipeline.prompt_template_encode_start_idx == 34
    assert len(ids(tokenizer, before + "cat" + after)) - len(ids(tokenizer, after)) == 35


def test_special_tokens_are_found_within_a_text() -> None:
    found = ids(of_model("qwen-image"), "<|im_start|>user\na<|im_end|>")
    assert found[0] == 151644
    assert found[-1] == 151645
    assert len(found) == 5


@settings(max_examples=50, deadline=None)
@given(text=st.text(max_size=60))
def test_no_text_breaks_a_stand_in_or_gets_the_number_of_a_special_token(text: str) -> None:
    tokenizer = of_model("sd-1.5")
    assert all(0 <= number < 49406 for number in ids(tokenizer, text)[1:-1]) or "<|" in text


def test_a_stand_in_of_a_tiny_vocabulary_never_runs_out_of_numbers() -> None:
    facts = TokenizerFacts(8, 4, special_tokens={"<a>": 0, "<b>": 1, "<c>": 2}, roles={"pad_token": "<a>"})
    assert set(ids(StandInTokenizer(facts), "one two three four")) == {3}


def plan(folder: Path | None, class_name: str = "CLIPTokenizer", **config: Any) -> PartPlan:
    return PartPlan("tokenizer", "transformers", class_name, config=config, folder=folder)


def opened(part: PartPlan, **parts: PartPlan) -> tuple[Any, list[str]]:
    assumptions: list[str] = []
    return tokenizer_of(Blueprint("m", "folder", "P", {"tokenizer": part, **parts}), part, assumptions), assumptions


def test_the_models_own_files_are_used_where_they_are(tmp_path: Path) -> None:
    from tests.small_pipelines.text_tokenizers import clip_tokenizer

    clip_tokenizer().save_pretrained(tmp_path)
    tokenizer, assumptions = opened(plan(tmp_path))
    assert not isinstance(tokenizer, StandInTokenizer)
    assert ids(tokenizer, "cat") == ids(clip_tokenizer(), "cat")
    assert assumptions == []


def test_small_files_say_what_a_stand_in_does(tmp_path: Path) -> None:
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"pad_token": {"content": "<p>"}}))
    part = plan(
        tmp_path,
        "T5Tokenizer",
        model_max_length=300,
        added_tokens_decoder={"7": {"content": "<x>"}, "9": {"content": "<p>"}},
        padding_side="left",
        chat_template="{{ messages[0]['content'] }}!",
    )
    tokenizer, assumptions = opened(part)
    assert (tokenizer.model_max_length, tokenizer.padding_side, tokenizer.pad_token_id) == (300, "left", 9)
    assert ids(tokenizer, "<x>") == [7, 1]
    chat = [{"role": "user", "content": "hello"}]
    assert tokenizer.apply_chat_template(chat, tokenize=False) == "hello!"
    assert len(assumptions) == 1
    assert "stand-in for T5Tokenizer" in assumptions[0]


@pytest.mark.parametrize(
    ("settings_", "first", "last"),
    [({}, 2, None), ({"add_bos_token": False}, None, None), ({"add_eos_token": True}, 2, 1)],
    ids=["as the class does", "no first", "a last"],
)
def test_the_config_says_whether_a_text_is_framed(
    settings_: dict[str, Any], first: int | None, last: int | None
) -> None:
    tokenizer, _ = opened(plan(None, "GemmaTokenizer", **settings_))
    found = ids(tokenizer, "a cat sat")
    assert len(found) == 3 + (first is not None) + (last is not None)
    assert first is None or found[0] == first
    assert last is None or found[-1] == last


def test_the_vocabulary_is_that_of_the_text_encoder() -> None:
    encoder = PartPlan("text_encoder", "transformers", "CLIPTextModel", config={"vocab_size": 1000})
    tokenizer, _ = opened(plan(None), text_encoder=encoder)
    assert tokenizer.vocab_size == 1000
    assert all(number < 1000 for number in ids(tokenizer, "one two three four five six")[1:-1])


def test_a_damaged_vocabulary_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(RequestError, match="cannot be read"):
        opened(plan(tmp_path))


def test_tokenizer_code_is_not_run(tmp_path: Path) -> None:
    from tests.small_pipelines.text_tokenizers import clip_tokenizer

    clip_tokenizer().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    config["auto_map"] = {"AutoTokenizer": ["code.Mine", None]}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "code.py").write_text("import os; os._exit(3)")
    tokenizer, _ = opened(plan(tmp_path))
    assert ids(tokenizer, "cat") == ids(clip_tokenizer(), "cat")


def test_a_note_of_git_in_the_place_of_a_vocabulary_is_no_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    tokenizer, assumptions = opened(plan(tmp_path))
    assert isinstance(tokenizer, StandInTokenizer)
    assert "stand-in for CLIPTokenizer" in assumptions[0]


def encoder(class_name: str, **config: Any) -> PartPlan:
    return PartPlan("text_encoder", "transformers", class_name, config=config)


@pytest.mark.parametrize("class_name", ["AutoTokenizer", "PreTrainedTokenizerFast", "Qwen2TokenizerFast"])
def test_a_class_that_says_little_is_known_by_its_text_encoder(class_name: str) -> None:
    tokenizer, _ = opened(plan(None, class_name), text_encoder=encoder("Qwen3Model", model_type="qwen3"))
    chat = [{"role": "user", "content": "a cat"}]
    options = {"add_generation_prompt": True, "enable_thinking": False, "tokenize": False}
    assert tokenizer.apply_chat_template(chat, **options) == (
        "<|im_start|>user\na cat<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )
    assert ids(tokenizer, "<|im_start|>user\na<|im_end|>")[0] == 151644


@pytest.mark.parametrize(
    ("encoder_class", "first"),
    [("Gemma2Model", 2), ("Mistral3ForConditionalGeneration", 1), ("LlamaForCausalLM", 128000), ("GlmModel", 151331)],
)
def test_the_family_of_a_language_model_frames_its_texts(encoder_class: str, first: int) -> None:
    tokenizer, _ = opened(plan(None, "PreTrainedTokenizerFast"), text_encoder=encoder(encoder_class))
    assert ids(tokenizer, "a cat")[0] == first
    assert tokenizer.chat_template


def test_bytes_need_no_vocabulary(tmp_path: Path) -> None:
    tokenizer, assumptions = opened(plan(tmp_path, "ByT5Tokenizer"))
    assert len(ids(tokenizer, "cat")) == 4
    assert assumptions == ["tokenizer has no configuration: the defaults of ByT5Tokenizer are assumed"]


def test_a_stand_in_passes_for_a_tokenizer_of_its_class() -> None:
    tokenizer, _ = opened(plan(None, "RobertaTokenizer"))
    assert isinstance(tokenizer, StandInTokenizer)
    assert isinstance(tokenizer, transformers.RobertaTokenizer)
    assert ids(tokenizer, "a cat")[0] == 0


def test_chat_glm_counts_positions_from_the_first_token_that_is_no_padding() -> None:
    part = PartPlan("tokenizer", "kolors", "ChatGLMTokenizer")
    tokenizer, _ = opened(part, text_encoder=PartPlan("text_encoder", "kolors", "ChatGLMModel"))
    found = tokenizer(["a cat"], padding="max_length", max_length=6, return_tensors="pt")
    assert found.input_ids[0, 2:4].tolist() == [64790, 64792]
    assert found.position_ids.tolist() == [[0, 0, 0, 1, 2, 3]]
