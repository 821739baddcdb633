"""Two traces: what changed, by figures worked out by hand."""

from __future__ import annotations

from pathlib import Path

from diffprof.traces.analysis.comparison import Change, compare_traces
from diffprof.traces.analysis.explanation import trace_report
from diffprof.traces.facts import TraceReport
from tests.traces.made_by_hand import HandMade


def report(folder: Path, name: str, kernels: dict[str, tuple[float, float]], **metadata: object) -> TraceReport:
    made = HandMade(**metadata)
    for kernel, (start, end) in kernels.items():
        made.kernel(kernel, start, end, launched=start - 5)
    return trace_report(made.write(folder / f"{name}.json"))


def test_kernels_that_changed_appeared_or_went_are_told_apart(tmp_path: Path) -> None:
    before = report(tmp_path, "b", {"gemm_a": (10, 20), "softmax_old": (20, 50), "gemm_same": (50, 60)})
    after = report(tmp_path, "a", {"gemm_a": (10, 40), "flash_fwd_new": (60, 65), "gemm_same": (70, 80)})
    made = compare_traces(before, after)
    assert made.kernels == (Change("gemm_a", 10_000, 30_000, 1, 1),)
    assert made.appeared == (Change("flash_fwd_new", 0, 5_000, 0, 1),)
    assert made.gone == (Change("softmax_old", 30_000, 0, 1, 0),)
    assert (made.kernels[0].difference_ns, made.kernels[0].ratio, made.appeared[0].ratio) == (20_000, 3.0, None)


def test_time_line_kinds_and_gaps_have_both_sides(tmp_path: Path) -> None:
    before = report(tmp_path, "b", {"gemm": (10, 20), "softmax": (20, 50)})
    after = report(tmp_path, "a", {"gemm": (10, 20), "softmax": (70, 90)})
    made = compare_traces(before, after)
    figures = {row.name: (row.before_ns, row.after_ns) for row in made.timeline}
    assert figures["total"] == (40_000, 80_000)
    assert figures["idle"] == (0, 50_000)
    assert {row.name: row.difference_ns for row in made.kinds} == {"reduction": -10_000, "gemm": 0}
    assert made.causes == (Change("host", 0, 50_000, 0, 1),)
    assert made.differences == ()


def test_what_makes_them_hard_to_compare_is_said(tmp_path: Path) -> None:
    one = report(tmp_path, "b", {"gemm": (10, 20)}, deviceProperties=[{"name": "H100"}])
    other = report(tmp_path, "a", {"gemm": (10, 20)}, deviceProperties=[{"name": "A100"}])
    assert compare_traces(one, other).differences == ("device: H100 before, A100 after",)
    assert compare_traces(one, one).differences == ()
