"""How many words and marks a prompt has."""

from __future__ import annotations

import pytest

from diffprof.laws.prompts import MIXED_PROMPT, USUAL_TOKENS, count_tokens, prompt_of


@pytest.mark.parametrize(
    ("prompt", "tokens"),
    [("cat", 1), ("a photo of a cat", 5), ("two cats, 3 dogs.", 6), (MIXED_PROMPT, 14), ("25 cats", None)],
)
def test_words_figures_and_marks_are_counted(prompt: str, tokens: int | None) -> None:
    assert count_tokens(prompt) == tokens


@pytest.mark.parametrize(
    "prompt", ["", " cat", "cat ", "a  cat", "a\ncat", "<|endoftext|>", "caf\u00e9", "a &amp; b", "(cat:1.3)"]
)
def test_a_text_that_a_pipeline_may_change_first_has_no_known_length(prompt: str) -> None:
    assert count_tokens(prompt) is None


def test_a_prompt_of_any_length_can_be_made() -> None:
    assert [count_tokens(prompt_of(tokens)) for tokens in (1, 4, 5, 6, 60)] == [1, 4, 5, 6, 60]
    assert prompt_of(USUAL_TOKENS) == "a photo of a cat"
