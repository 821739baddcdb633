"""The calls of the host as a tree: who called whom, and what ran at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diffprof.traces import read_trace
from diffprof.traces.analysis import host
from diffprof.traces.analysis.host import NOTHING, HostTree, readable_name
from diffprof.traces.reading.columns import OP, RUNTIME
from tests.traces.trace_builder import TraceBuilder


@pytest.fixture
def tree(tmp_path: Path) -> HostTree:
    builder = TraceBuilder()
    builder.python("pipe.py(1): __call__", 0, 100)
    builder.python("torch/nn/modules/module.py(9): _call_impl", 10, 60)
    builder.op("aten::linear", 20, 50)
    builder.op("aten::addmm", 25, 45)
    builder.call("cudaLaunchKernel", 30, 35)
    builder.call("cudaLaunchKernel", 70, 80)
    builder.call("cudaLaunchKernel", 30, 40, thread=7)
    return HostTree(read_trace(builder.write(tmp_path / "t.json")))


def labels(tree: HostTree, rows: list[int]) -> list[str]:
    return ["" if row == NOTHING else tree.label(row) for row in rows]


@pytest.mark.parametrize("chunk", [2, 1 << 16])
def test_each_row_has_its_caller_on_the_same_thread(
    chunk: int, tree: HostTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "_CHUNK", chunk)
    assert tree.parent.tolist() == [NOTHING, 0, 1, 2, 3, 0, NOTHING]


def test_the_innermost_row_at_a_time_is_found(tree: HostTree) -> None:
    times = np.array([5, 32, 47, 65, 99, 200], dtype=np.int64) * 1000
    rows = tree.innermost(np.zeros(len(times), dtype=np.int64), times)
    assert rows.tolist() == [0, 4, 2, 0, 0, NOTHING]


def test_a_row_covers_an_interval_if_it_has_half_of_it(tree: HostTree) -> None:
    start, end = np.array([20, 0], dtype=np.int64) * 1000, np.array([50, 100], dtype=np.int64) * 1000
    assert tree.innermost_covering(np.zeros(2, dtype=np.int64), start, end).tolist() == [3, 1]


def test_callers_of_a_kind_are_found_by_climbing(tree: HostTree) -> None:
    rows = np.array([4, 5], dtype=np.int64)
    assert labels(tree, tree.nearest(rows, OP).tolist()) == ["aten::addmm", ""]
    assert labels(tree, tree.outermost_op(rows).tolist()) == ["aten::linear", ""]
    assert tree.nearest(rows, RUNTIME).tolist() == [4, 5]
    # The function of torch itself is skipped.
    assert labels(tree, tree.python_function(rows).tolist()) == ["pipe.py(1): __call__"] * 2


def test_two_rows_have_a_common_caller(tree: HostTree) -> None:
    assert tree.common_caller(4, 5) == 0
    assert tree.common_caller(4, 6) == NOTHING


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("<built-in method item of Tensor object at 0x7f00>", "Tensor.item"),
        ("<built-in function linear>", "linear"),
        ("<built-in method  of PyCapsule object at 0x7f00>", "a built-in function"),
        ("nn.Module: Linear_3", "Linear_3"),
        ("models/unet.py(3): forward", "models/unet.py(3): forward"),
    ],
)
def test_names_are_shown_without_addresses_and_prefixes(name: str, readable: str) -> None:
    assert readable_name(name) == readable
