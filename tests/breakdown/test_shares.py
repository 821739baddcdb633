"""Shares of a whole."""

from __future__ import annotations

from diffprof.breakdown.shares import share


def test_a_share_of_nothing_is_nothing() -> None:
    assert (share(1, 4), share(0, 4), share(3, 0)) == (0.25, 0.0, 0.0)
