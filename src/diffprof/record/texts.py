"""The texts that a text encoder worked on."""

from __future__ import annotations

import re
from dataclasses import dataclass

WORDS_AND_MARKS = re.compile(r" ?[^\W\d_]+| ?\d| ?[^\w\s]+|_+|\s+(?!\S)|\s")
"""What a tokenizer that stands in for a model's own cuts a text into."""

STAND_IN_PROMPT = "a photo of a cat"
"""The prompt of a call that is given none."""


@dataclass(frozen=True)
class EncodedText:
    """Texts that one call of an encoder was given."""

    encoder: str
    """Slot of the component."""
    tokenizer: str | None
    """Slot of the tokenizer that made the tokens; None where that is not known."""
    tokens: tuple[int, ...]
    """The number of tokens of each text, without padding."""
    length: int
    """With padding: what the encoder computes on."""
    is_stand_in: bool = False
    """The model's own tokenizer was not there: the number of tokens is that of a stand-in."""

    @property
    def is_padded(self) -> bool:
        """Whether every text is shorter than what is computed, so that a longer one would cost the same."""
        return all(count < self.length for count in self.tokens)
