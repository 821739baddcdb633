"""Every table of a profile adds up to the profile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from diffprof.breakdown.attention import attention_table
from diffprof.breakdown.calls import call_table
from diffprof.breakdown.components import component_table
from diffprof.breakdown.kinds import kind_table
from diffprof.breakdown.modules import ModuleRow, module_table
from diffprof.record.profile import Profile
from tests.profiles_made_by_hand import UNET_CALLS, UNET_MACS, VAE_MACS, hostile, nothing, stable_diffusion

MADE_BY_HAND = [stable_diffusion, nothing, hostile]


@pytest.mark.parametrize("make", MADE_BY_HAND)
def test_components_and_calls_add_up_to_the_total(make: Callable[[], Profile]) -> None:
    profile = make()
    for table in (component_table(profile), call_table(profile)):
        assert sum(row.macs for row in table) == profile.total.macs
        assert sum(row.other_flops for row in table) == profile.total.other_flops
        assert sum(row.read_bytes for row in table) == profile.total.work.read_bytes
        assert sum(row.share for row in table) == pytest.approx(1.0 if profile.total.macs else 0.0)


def test_components_stand_in_the_pipelines_order_with_the_cost_of_a_call() -> None:
    rows = component_table(stable_diffusion())
    assert [row.component for row in rows] == ["vae", "text_encoder", "unet"]
    assert (rows[2].calls, rows[2].least_macs_per_call, rows[2].most_macs_per_call) == (
        UNET_CALLS,
        UNET_MACS,
        UNET_MACS,
    )


def test_a_component_whose_calls_differ_has_a_least_and_a_most() -> None:
    row = component_table(hostile())[0]
    assert (row.calls, row.least_macs_per_call, row.most_macs_per_call) == (2, 1_000, 3_000_000)


def test_equal_calls_stand_in_one_row_with_their_steps() -> None:
    rows = call_table(stable_diffusion())
    assert [(row.component, row.count) for row in rows] == [("text_encoder", 2), ("unet", 31), ("vae", 1)]
    assert rows[1].steps == tuple(range(31))
    assert rows[0].steps == ()


def test_kinds_add_up_to_the_total_and_attention_to_its_relations() -> None:
    profile = stable_diffusion()
    rows = kind_table(profile)
    whole = [row for row in rows if row.part_of is None]
    assert sum(row.macs for row in whole) == profile.total.macs
    assert sum(row.other_flops for row in whole) == profile.total.other_flops
    attention = next(row for row in whole if row.kind == "attention")
    relations = [row for row in rows if row.part_of == "attention"]
    assert [row.kind for row in relations] == ["self", "cross"]
    assert sum(row.macs for row in relations) == attention.macs
    assert sum(row.executions for row in relations) == attention.executions


def test_kinds_come_with_most_macs_first() -> None:
    assert [row.kind for row in kind_table(stable_diffusion()) if not row.part_of] == [
        "convolution",
        "linear",
        "attention",
        "norm",
    ]


def test_attention_is_split_into_its_products() -> None:
    rows = attention_table(stable_diffusion())
    assert [(row.component, row.site.relation) for row in rows] == [
        ("unet", "self"),
        ("unet", "cross"),
        ("text_encoder", "self"),
    ]
    cross = rows[1]
    # batch x heads x query tokens x key tokens x head size, in 3 places, in 31 calls
    assert cross.qk_macs == cross.av_macs == 2 * 5 * 4_096 * 77 * 64 * 3 * 31
    assert cross.executions == 93
    assert rows[2].site.causal


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


@pytest.mark.parametrize("table", [kind_table, attention_table, call_table])
def test_a_pipeline_that_called_nothing_has_empty_tables(table: Callable[[Profile], list[object]]) -> None:
    assert table(nothing()) == []
