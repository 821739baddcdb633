"""Writes the table of docs/scaling.md from the laws of the package: ``python -m calibration.scaling_table``."""

from __future__ import annotations

from pathlib import Path

from diffprof.catalogue.recommended_settings import add_recommended
from diffprof.laws.law import Law
from diffprof.laws.law_file import models_with_laws, packaged_law
from diffprof.laws.programs import OutsideOfLaw
from diffprof.record.request import Request
from diffprof.render import numbers

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
BEGIN, END = "<!-- growth: begin -->\n", "<!-- growth: end -->\n"
HEADINGS = ("model", "size", "compute of 4x the pixels", "attention", "attention at 4x")


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(before + BEGIN + growth_table() + END + after, encoding="utf-8")


def growth_table() -> str:
    """A row for every law that covers twice the side of a square near the default size."""
    rows = [row for model in models_with_laws() if (row := _row(model)) is not None]
    lines = [HEADINGS, ("---", *("---:" for _ in HEADINGS[1:])), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _row(model: str) -> tuple[str, ...] | None:
    law = packaged_law(model)
    assert law is not None, "its file is there"
    if not {"height", "width"} <= set(law.sources):
        return None
    for side in (1024, 512):
        try:
            (macs, attention), (more_macs, more_attention) = (_macs(law, size) for size in (side, 2 * side))
        except OutsideOfLaw:
            continue
        shares = [numbers.percent(part / whole) for part, whole in ((attention, macs), (more_attention, more_macs))]
        return model, f"{side}x{side}", f"{numbers.significant(more_macs / macs)}x", *shares
    return None


def _macs(law: Law, side: int) -> tuple[int, int]:
    """MACs of a generation, and those of attention."""
    filled = law.fill(add_recommended(Request.create(law.model, {"height": side, "width": side})))
    macs = sum(cost.work.macs * cost.calls for cost in filled.costs)
    return macs, sum(cost.attention_macs * cost.calls for cost in filled.costs)


if __name__ == "__main__":
    main()
