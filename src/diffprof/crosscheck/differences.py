"""What each tool of a crosscheck missed or overcounted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from diffprof.breakdown.shares import share
from diffprof.crosscheck.result import ATTENTION, MATRIX_PRODUCTS, REAL_PRODUCTS, Count, Crosscheck


@dataclass(frozen=True)
class CountDifference:
    """MACs that a tool counted too many (positive) or missed (negative) in one part of the work."""

    part: str
    macs: int

    @property
    def is_missing(self) -> bool:
        return self.macs < 0


@dataclass(frozen=True)
class CrosscheckRow:
    """One tool compared with diffprof. The differences add up to the error of its total."""

    count: Count
    share: float | None
    """Its total as a share of diffprof's."""
    differences: tuple[CountDifference, ...]


def crosscheck_table(crosscheck: Crosscheck) -> list[CrosscheckRow]:
    """A row for each tool, in the order they were run."""
    truth = crosscheck.truth
    return [
        CrosscheckRow(
            count=count,
            share=None if count.macs is None or truth.macs is None else share(count.macs, truth.macs),
            differences=() if count.macs is None else differences(truth.parts, count.parts),
        )
        for count in crosscheck.counts
    ]


def differences(truth: Mapping[str, int], counted: Mapping[str, int]) -> tuple[CountDifference, ...]:
    """The parts in which a count differs from the truth, the largest difference first."""
    parts = dict.fromkeys((*truth, *counted))
    off = {part: counted.get(part, 0) - (truth.get(part, 0) if part in REAL_PRODUCTS else 0) for part in parts}
    _merge_attention_and_products(off)
    differing = [CountDifference(part, macs) for part, macs in off.items() if macs]
    return tuple(sorted(differing, key=lambda difference: -abs(difference.macs)))


def _merge_attention_and_products(off: dict[str, int]) -> None:
    """Offset attention against matrix products: a tool that counts one as the other has not missed it."""
    attention, products = off.get(ATTENTION, 0), off.get(MATRIX_PRODUCTS, 0)
    if attention * products < 0:
        same = min(abs(attention), abs(products))
        off[ATTENTION] += same if attention < 0 else -same
        off[MATRIX_PRODUCTS] += same if products < 0 else -same
