"""Predicted figures of compared profiles."""

from __future__ import annotations

from diffprof.comparison.views.hardware import hardware_blocks
from diffprof.render import numbers
from tests.comparison.views.comparisons import compare_as_letters
from tests.sample_profiles import stable_diffusion

LONG, SHORT = stable_diffusion(unet_calls=4), stable_diffusion(unet_calls=2)


def test_every_accelerator_has_a_row_for_each_profile() -> None:
    comparison = compare_as_letters(LONG, SHORT, LONG, accelerators=["l4", "h100-sxm"])
    (block,) = hardware_blocks(comparison)
    cells = {column.heading: list(column.cells) for column in block.columns}
    assert cells["accelerator"] == ["l4"] * 3 + ["h100-sxm"] * 3
    assert cells["profile"] == ["A", "B", "C"] * 2
    change = comparison.pairs[0].predictions[0]
    assert change.after.total_seconds is not None and change.before.total_seconds is not None
    assert cells["time"][1] == numbers.estimate(change.after.total_seconds)
    assert cells["change"][:2] == ["", numbers.change(change.after.total_seconds / change.before.total_seconds)]
    assert cells["memory"] == [""] * 6  # the profiles have no allocations


def test_without_an_accelerator_there_is_no_table() -> None:
    assert hardware_blocks(compare_as_letters(LONG, SHORT)) == []
