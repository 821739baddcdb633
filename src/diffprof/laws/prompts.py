"""The number of words and punctuation marks in a prompt, on which its token count depends with a stand-in tokenizer."""

from __future__ import annotations

import re

from diffprof.record.texts import STAND_IN_PROMPT, WORDS_AND_MARKS

MIXED_PROMPT = "Two red cats, 3 of them half asleep, and a dog."
"""A prompt with marks and a figure: laws are proved with it too."""

_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9,.]| (?! ))*(?<! )")
"""Texts that no pipeline cleans: no markup, no special tokens, no spaces that would be dropped."""


def count_tokens(prompt: str) -> int | None:
    """The words, digits and punctuation marks of a prompt; None if the pipeline may change it before tokenizing."""
    return len(WORDS_AND_MARKS.findall(prompt)) if _PLAIN.fullmatch(prompt) else None


def prompt_of(tokens: int) -> str:
    """A prompt with this many words."""
    words = STAND_IN_PROMPT.split()
    return " ".join((words * (tokens // len(words) + 1))[:tokens])


USUAL_TOKENS = len(STAND_IN_PROMPT.split())
