"""The dtypes that a component computes in, in words."""

from __future__ import annotations

from collections.abc import Mapping

from diffprof.render import numbers

LEAST_SHARE = 0.005
"""A dtype with a smaller share of the MACs is not named."""


def describe_mix(macs: Mapping[str, int]) -> str:
    """``bfloat16``, or ``bfloat16 93.1 % and float32 6.9 %`` if several matter."""
    total = sum(macs.values())
    shares = {dtype: amount / total for dtype, amount in macs.items() if amount >= LEAST_SHARE * total > 0}
    if len(shares) < 2:
        return next(iter(shares), "")
    return " and ".join(f"{dtype} {numbers.percent(share)}" for dtype, share in shares.items())
