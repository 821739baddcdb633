"""The tree of modules is summed from below, and folding changes no sum."""

from __future__ import annotations

import pytest

from diffprof.breakdown.modules import ModuleRow, module_table
from tests.sample_profiles import UNET_CALLS, UNET_MACS, VAE_MACS, stable_diffusion


def test_the_module_tree_is_cumulated_from_below() -> None:
    rows = {(row.component, row.path): row for row in module_table(stable_diffusion(), depth=2, fold=False)}
    unet = rows["unet", ""]
    assert unet.macs == UNET_CALLS * UNET_MACS
    below = [row for row in rows.values() if row.component == "unet" and row.depth == 1]
    assert sum(row.macs for row in below) == unet.macs
    assert sum(row.parameters for row in below) == unet.parameters
    assert rows["unet", "down_blocks"].macs == 3 * rows["unet", "down_blocks.1"].macs


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 9])
def test_folding_changes_no_sum(depth: int) -> None:
    def sums(rows: list[ModuleRow]) -> dict[tuple[str, int], tuple[int, int, int, int]]:
        result: dict[tuple[str, int], tuple[int, int, int, int]] = {}
        for row in rows:
            calls, parameters, macs, moved = result.get((row.component, row.depth), (0, 0, 0, 0))
            result[row.component, row.depth] = (
                calls + row.calls,
                parameters + row.parameters,
                macs + row.macs,
                moved + row.read_bytes,
            )
        return result

    profile = stable_diffusion()
    assert sums(module_table(profile, depth)) == sums(module_table(profile, depth, fold=False))


def test_equal_neighbours_are_folded_into_one_row() -> None:
    rows = module_table(stable_diffusion(), depth=3)
    folded = [row for row in rows if row.repeats > 1]
    assert [(row.path, row.repeats) for row in folded] == [("down_blocks.0-2", 3), ("down_blocks.0-2.attentions", 3)]


def test_depth_zero_is_the_components() -> None:
    rows = module_table(stable_diffusion(), depth=0)
    assert (rows[0].component, rows[0].path, rows[0].macs) == ("vae", "", VAE_MACS)
    assert len(rows) == 3


def test_a_module_that_never_ran_is_there_with_nothing() -> None:
    rows = {row.path: row for row in module_table(stable_diffusion(), depth=1) if row.component == "vae"}
    assert (rows["encoder"].macs, rows["encoder"].calls, rows["encoder"].parameters) == (0, 0, 34_163_664)
