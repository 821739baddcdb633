"""Shares of a whole."""

from __future__ import annotations


def share(part: int, whole: int) -> float:
    """The share of `part` in `whole`, from 0 to 1; 0 if `whole` is 0."""
    return part / whole if whole else 0.0
