"""Traces on a console."""

from __future__ import annotations

from dataclasses import replace

from diffprof.render.console import render_text
from diffprof.traces.analysis.comparison import compare_traces
from diffprof.traces.analysis.ranks import compare_ranks
from diffprof.traces.facts import TraceExplanation
from diffprof.traces.result import TraceResult
from diffprof.traces.views.console import print_result, print_trace
from diffprof.traces.views.tables import EMPTY_TABLE, TraceBy
from tests.traces.conftest import Explain
from tests.traces.trace_builder import TraceBuilder, two_denoising_steps


def result_text(result: TraceResult, by: TraceBy | None = None, top: int = 10) -> str:
    return render_text(lambda console: print_result(result, console, by, top), 100)


def of_rank(explanation: TraceExplanation, number: int) -> TraceExplanation:
    return replace(explanation, source=replace(explanation.source, path=f"rank{number}.json", rank=number))


def test_a_table_is_cut_and_the_rest_is_counted(explain_built: Explain) -> None:
    result = TraceResult((explain_built(two_denoising_steps()),))
    lines = result_text(result, TraceBy.kernel, top=2).splitlines()
    assert "gemm" in lines[-3]
    assert lines[-1] == "and 3 more (--top)"
    assert "more (--top)" not in result_text(result, TraceBy.kernel, top=5)


def test_an_empty_table_is_replaced_by_a_message(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.gpu("gemm", 0, 10)
    text = render_text(lambda console: print_trace(explain_built(builder), console, TraceBy.memory), 200)
    assert text.splitlines()[-1] == EMPTY_TABLE[TraceBy.memory]


def test_the_headline_comes_before_the_tables(explain_built: Explain) -> None:
    lines = result_text(TraceResult((explain_built(two_denoising_steps()),))).splitlines()
    assert lines[0] == "trace.json · NVIDIA H100 (cuda) · 39 events"
    assert lines[1].startswith("The GPU was busy 49.4 % of 810 us")


def test_a_comparison_is_printed_with_what_differs_first(explain_built: Explain) -> None:
    before = explain_built(two_denoising_steps())
    after = replace(before, source=replace(before.source, device_names=("NVIDIA A100",)))
    text = result_text(TraceResult((after,), comparison=compare_traces(before, after)))
    assert text.index("Not the same: device: NVIDIA H100 before, NVIDIA A100 after") < text.index("timeline")


def test_ranks_are_printed_side_by_side_unless_one_table_is_requested(explain_built: Explain) -> None:
    explanation = explain_built(two_denoising_steps())
    ranks = [of_rank(explanation, number) for number in range(2)]
    result = TraceResult(tuple(ranks), ranks=compare_ranks(ranks))
    text = result_text(result)
    assert "waited for others" in " ".join(text.split())
    assert "rank1.json: The GPU was busy 49.4 %" in text
    assert "waited for others" not in result_text(result, TraceBy.kind)
    assert result_text(result, TraceBy.kind).count("gemm") == 2
