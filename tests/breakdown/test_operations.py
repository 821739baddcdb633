"""The operations of a generation, equal ones together."""

from __future__ import annotations

import pytest

from diffprof.breakdown.operations import operation_table
from tests.sample_profiles import hostile, nothing, stable_diffusion


def test_the_operations_add_up_to_the_generation() -> None:
    whole = stable_diffusion()
    rows = operation_table(whole)
    assert sum(row.macs for row in rows) == whole.total.macs
    assert sum(row.other_flops for row in rows) == whole.total.other_flops
    assert sum(row.read_bytes for row in rows) == whole.total.work.read_bytes
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert sum(row.bytes_share for row in rows) == pytest.approx(1)


def test_equal_operations_of_all_calls_are_one_row_and_the_costliest_is_first() -> None:
    rows = operation_table(stable_diffusion())
    assert [(row.component, row.operation, row.executions) for row in rows] == [
        ("unet", "aten::convolution", 31 * 66),
        ("unet", "aten::addmm", 31 * 150),
        ("unet", "attention", 31 * 6),
        ("vae", "aten::convolution", 35),
        ("text_encoder", "aten::addmm", 2 * 138),
        ("text_encoder", "attention", 2 * 23),
        ("unet", "aten::native_group_norm", 31 * 61),
    ]


def test_an_operation_without_a_formula_is_marked() -> None:
    assert [row.known for row in operation_table(hostile())] == [False]


def test_a_generation_of_nothing_has_no_operations() -> None:
    assert operation_table(nothing()) == []
