"""Text from outside (names, prompts, files) made safe to print."""

from __future__ import annotations


def clean(text: str) -> str:
    """The text on one line without control characters, so that a file cannot drive the terminal."""
    return "".join(
        letter if letter.isprintable() else " " if letter.isspace() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
