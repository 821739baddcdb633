"""Kernels, operators and collective calls by name."""

from __future__ import annotations

import pytest

from diffprof.traces.analysis.work import op_kind
from tests.traces.conftest import Explain
from tests.traces.trace_builder import TraceBuilder


def test_kernels_of_one_name_are_one_row_the_longest_first(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.gpu("gemm", 0, 10)
    builder.gpu("gemm", 20, 50)
    builder.gpu("softmax", 60, 65)
    explanation = explain_built(builder)
    assert [(row.name, row.kind, row.count, row.gpu_ns, row.longest_ns) for row in explanation.kernels] == [
        ("gemm", "gemm", 2, 40_000, 30_000),
        ("softmax", "reduction", 1, 5_000, 5_000),
    ]
    assert [(row.kind, row.count, row.gpu_ns) for row in explanation.kinds] == [
        ("gemm", 2, 40_000),
        ("reduction", 1, 5_000),
    ]


def test_the_self_time_of_an_operator_excludes_the_operators_it_calls(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.op("aten::linear", 0, 100)
    builder.python("wrapper.py(1): call", 5, 95)
    builder.op("aten::addmm", 10, 90)
    rows = {row.name: (row.kind, row.calls, row.self_ns, row.total_ns) for row in explain_built(builder).host_ops}
    assert rows == {"aten::linear": ("gemm", 1, 20_000, 100_000), "aten::addmm": ("gemm", 1, 80_000, 80_000)}


def test_collective_calls_keep_their_order(explain_built: Explain) -> None:
    builder = TraceBuilder()
    for start, end in ((0, 10), (20, 25), (30, 60)):
        builder.gpu("ncclDevKernel_AllReduce", start, end)
    (collective,) = explain_built(builder).collectives
    assert collective.durations_ns == (10_000, 5_000, 30_000)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aten::scaled_dot_product_attention", "attention"),
        ("aten::addmm", "gemm"),
        ("aten::conv2d", "convolution"),
        ("aten::native_group_norm", "norm"),
        ("aten::_softmax", "reduction"),
        ("aten::copy_", "copy"),
        ("aten::mul_", "elementwise"),
        ("aten::silu", "elementwise"),
        ("aten::unique", "other"),
    ],
)
def test_an_operator_is_classified_by_its_name(name: str, kind: str) -> None:
    assert op_kind(name) == kind
