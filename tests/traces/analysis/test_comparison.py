"""Two traces: what changed, with numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path

from diffprof.traces.analysis.comparison import SourceDifference, TraceChange, compare_traces
from diffprof.traces.analysis.explain import explain_trace
from diffprof.traces.facts import TraceExplanation
from tests.traces.trace_builder import TraceBuilder


def explain(folder: Path, name: str, kernels: dict[str, tuple[float, float]], **metadata: object) -> TraceExplanation:
    builder = TraceBuilder(**metadata)
    for kernel, (start, end) in kernels.items():
        builder.kernel(kernel, start, end, launched=start - 5)
    return explain_trace(builder.write(folder / f"{name}.json"))


def test_changed_new_and_gone_kernels_are_separate_tables(tmp_path: Path) -> None:
    before = explain(tmp_path, "b", {"gemm_a": (10, 20), "softmax_old": (20, 50), "gemm_same": (50, 60)})
    after = explain(tmp_path, "a", {"gemm_a": (10, 40), "flash_fwd_new": (60, 65), "gemm_same": (70, 80)})
    comparison = compare_traces(before, after)
    assert comparison.kernels == (TraceChange("gemm_a", 10_000, 30_000, 1, 1),)
    assert comparison.appeared == (TraceChange("flash_fwd_new", 0, 5_000, 0, 1),)
    assert comparison.gone == (TraceChange("softmax_old", 30_000, 0, 1, 0),)
    assert (comparison.kernels[0].difference_ns, comparison.kernels[0].ratio, comparison.appeared[0].ratio) == (
        20_000,
        3.0,
        None,
    )


def test_timeline_kinds_and_gaps_have_both_sides(tmp_path: Path) -> None:
    before = explain(tmp_path, "b", {"gemm": (10, 20), "softmax": (20, 50)})
    after = explain(tmp_path, "a", {"gemm": (10, 20), "softmax": (70, 90)})
    comparison = compare_traces(before, after)
    times = {row.name: (row.before_ns, row.after_ns) for row in comparison.timeline}
    assert times["total"] == (40_000, 80_000)
    assert times["idle"] == (0, 50_000)
    assert {row.name: row.difference_ns for row in comparison.kinds} == {"reduction": -10_000, "gemm": 0}
    assert comparison.causes == (TraceChange("host", 0, 50_000, 0, 1),)
    assert comparison.differences == ()


def test_conditions_that_differ_are_named(tmp_path: Path) -> None:
    one = explain(tmp_path, "b", {"gemm": (10, 20)}, deviceProperties=[{"name": "H100"}])
    other = explain(tmp_path, "a", {"gemm": (10, 20)}, deviceProperties=[{"name": "A100"}])
    assert compare_traces(one, other).differences == (SourceDifference("device", "H100", "A100"),)
    assert compare_traces(one, one).differences == ()
