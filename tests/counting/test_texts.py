"""A profile says how many tokens the texts of each encoder had, and whose tokenizer made them."""

from __future__ import annotations

from pathlib import Path

import diffprof
from diffprof.record.texts import EncodedText
from diffprof.render.headline import text_lines
from tests.pipelines.folders import saved, without_tokenizer_files
from tests.small_pipelines import SMALL_PIPELINES


def test_padding_is_told_from_tokens() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    done = diffprof.profile(small.build(), **small.arguments() | {"prompt": "cat", "negative_prompt": ""})
    assert done.texts == (
        EncodedText("text_encoder", "tokenizer", (5,), 77),
        EncodedText("text_encoder", "tokenizer", (2,), 77),
    )
    assert text_lines(done) == []
    assert text_lines(done, all_texts=True)[0] == "text_encoder: 5 tokens, padded to 77, by its own tokenizer"


def test_a_text_that_is_not_padded_is_shown_with_its_length(tmp_path: Path) -> None:
    folder = without_tokenizer_files(saved("qwen-image", tmp_path / "model"))
    arguments = {"prompt": "a cat", "height": 32, "width": 32, "num_inference_steps": 1}
    done = diffprof.profile(folder, **arguments)
    (text, *_) = done.texts
    assert text.is_stand_in
    assert not text.is_padded
    assert text.tokens == (text.length,)
    assert text_lines(done)[0] == f"text_encoder: {text.length} tokens, by a stand-in tokenizer"
    longer = diffprof.profile(folder, **arguments | {"prompt": "a cat and a dog"})
    assert longer.texts[0].length == text.length + 3
    assert longer.total.macs > done.total.macs


def test_texts_are_saved(tmp_path: Path) -> None:
    small = SMALL_PIPELINES["flux"]
    done = diffprof.profile(small.build(), **small.arguments())
    assert {text.encoder for text in done.texts} == {"text_encoder", "text_encoder_2"}
    assert diffprof.load(done.save(tmp_path / "p.json")).texts == done.texts
