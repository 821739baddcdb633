"""Count words and punctuation marks of a prompt, which determine its token count with a stand-in tokenizer."""

from __future__ import annotations

import re

from diffprof.record.texts import STAND_IN_PROMPT, STAND_IN_TOKENS

MIXED_PROMPT = "Two red cats, 3 of them half asleep, and a dog."
"""A prompt with punctuation and a digit, for proving laws."""

_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9,.]| (?! ))*(?<! )")
"""Texts that pipelines do not clean: without markup, special tokens or redundant spaces."""


def count_tokens(prompt: str) -> int | None:
    """Count words, digits and punctuation marks of a prompt; None if the pipeline may change it before tokenizing."""
    return len(STAND_IN_TOKENS.findall(prompt)) if _PLAIN.fullmatch(prompt) else None


def prompt_of(tokens: int) -> str:
    """Return a prompt with this many words."""
    words = STAND_IN_PROMPT.split()
    return " ".join((words * (tokens // len(words) + 1))[:tokens])


USUAL_TOKENS = len(STAND_IN_PROMPT.split())
