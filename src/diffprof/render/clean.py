"""Make text from outside (names, prompts, files) safe to print."""

from __future__ import annotations


def clean(text: str) -> str:
    """Put a text on one line and remove control characters, which would reach the terminal."""
    return "".join(
        letter if letter.isprintable() else " " if letter.isspace() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
