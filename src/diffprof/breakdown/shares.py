"""Shares of a whole."""

from __future__ import annotations


def share(part: int, whole: int) -> float:
    """`part` of `whole`, from 0 to 1; 0 where there is nothing to share."""
    return part / whole if whole else 0.0
