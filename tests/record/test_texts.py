"""Texts and their padding."""

from __future__ import annotations

import pytest

from diffprof.record.texts import EncodedText


@pytest.mark.parametrize(("tokens", "padded"), [((7, 9), True), ((7, 77), False), ((77,), False)])
def test_texts_are_padded_if_every_one_is_shorter_than_what_is_computed(tokens: tuple[int, ...], padded: bool) -> None:
    assert EncodedText("text_encoder", "tokenizer", tokens, 77).is_padded is padded
