"""Loads as columns."""

from __future__ import annotations

from diffprof.prediction.load_table import load_table
from diffprof.prediction.workload import ATTENTION, MEMORY, VIEW, CallLoads, Loads, Workload
from tests.prediction.samples import load_like, workload_of_loads


def test_a_row_knows_its_call_its_dtype_and_its_kind() -> None:
    first, second = load_like(macs=3), load_like(MEMORY, "norm", "float32", read_bytes=8)
    calls = [CallLoads("unet", "forward", 1, True, 0, Loads(loads)) for loads in ((first,), (second, first))]
    table = load_table(Workload(tuple(calls), 1))
    assert table.call.tolist() == [0, 1, 1]
    assert [table.dtypes[number] for number in table.dtype] == ["float16", "float32", "float16"]
    assert [table.kinds[number] for number in table.kind] == ["linear", "norm", "linear"]
    assert (table.macs.tolist(), table.read.tolist()) == ([3, 0, 3], [0, 8, 0])


def test_each_load_is_of_one_sort() -> None:
    table = load_table(workload_of_loads(load_like(), load_like(ATTENTION), load_like(MEMORY), load_like(VIEW)))
    sorts = (table.is_gemm, table.is_attention, table.is_memory, table.is_view)
    assert [flags.tolist() for flags in sorts] == [[row == column for row in range(4)] for column in range(4)]


def test_a_strided_read_fetches_as_much_for_a_small_element_as_for_a_large_one() -> None:
    half, single = (load_like(MEMORY, dtype=dtype, strided_bytes=100) for dtype in ("float16", "float32"))
    assert load_table(workload_of_loads(half, single)).strided.tolist() == [200, 100]


def test_attention_knows_whether_it_has_a_mask() -> None:
    loads = [load_like(ATTENTION, masked=masked) for masked in (False, True)]
    assert load_table(workload_of_loads(*loads)).is_masked.tolist() == [False, True]


def test_nothing_is_a_table_without_rows() -> None:
    table = load_table(Workload((), 0))
    assert (len(table.loads), table.dtypes, table.is_gemm.dtype) == (0, (), bool)
