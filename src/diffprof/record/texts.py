"""The texts of a text encoder."""

from __future__ import annotations

import re
from dataclasses import dataclass

STAND_IN_TOKENS = re.compile(r" ?[^\W\d_]+| ?\d| ?[^\w\s]+|_+|\s+(?!\S)|\s")
"""The tokens of a stand-in tokenizer."""

STAND_IN_PROMPT = "a photo of a cat"
"""The default prompt."""


@dataclass(frozen=True)
class EncodedText:
    """The texts of one call of an encoder."""

    encoder: str
    """Slot of the component."""
    tokenizer: str | None
    """Slot of the tokenizer that made the tokens; None if it is not known."""
    tokens: tuple[int, ...]
    """The number of tokens of each text, without padding."""
    length: int
    """The length with padding, which the encoder computes on."""
    is_stand_in: bool = False
    """Whether a stand-in counted the tokens, because the model's own tokenizer was missing."""

    @property
    def is_padded(self) -> bool:
        """Whether every text is shorter than the computed length, so that a longer one would cost the same."""
        return all(count < self.length for count in self.tokens)
