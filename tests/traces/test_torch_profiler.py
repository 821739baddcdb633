"""What torch.profiler writes here, on the CPU, held against what it says itself."""

from __future__ import annotations

import pytest
import torch

from diffprof.profiles.traces import TraceReport
from diffprof.traces.report import trace_report

STEPS = 3


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[TraceReport, dict[str, tuple[int, float, float]]]:
    """The report on a trace, and torch's own figures: for each operator its calls, own and total microseconds."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64))
    picture = torch.randn(8, 64)
    options = {"record_shapes": True, "profile_memory": True, "with_stack": True}
    with torch.no_grad(), torch.profiler.profile(**options) as profiler:  # type: ignore[arg-type]
        for _ in range(STEPS):
            with torch.profiler.record_function("denoise_step"):
                picture = model(picture)
                torch.nn.functional.scaled_dot_product_attention(*[picture.view(1, 2, 4, 64)] * 3)
    path = tmp_path_factory.mktemp("torch") / "trace.json.gz"
    profiler.export_chrome_trace(str(path))
    figures = {
        row.key: (row.count, row.self_cpu_time_total, row.cpu_time_total)
        for row in profiler.key_averages()
        if row.key.startswith("aten::")
    }
    return trace_report(path), figures


Recorded = tuple[TraceReport, dict[str, tuple[int, float, float]]]


def test_each_operator_has_the_calls_and_times_that_torch_says(recorded: Recorded) -> None:
    report, figures = recorded
    ours = {row.name: row for row in report.host_ops if row.name.startswith("aten::")}
    assert {name: row.calls for name, row in ours.items()} == {name: count for name, (count, _, _) in figures.items()}
    for name, (_, own, total) in figures.items():
        # torch adds up times that it had rounded.
        assert ours[name].total_ns / 1000 == pytest.approx(total, rel=1e-3, abs=0.1)
        assert ours[name].self_ns / 1000 == pytest.approx(own, rel=1e-3, abs=0.1)


def test_sections_steps_memory_and_stacks_are_found(recorded: Recorded) -> None:
    report, _ = recorded
    assert (report.source.platform, report.source.has_stacks, report.source.has_shapes) == ("cpu", True, True)
    assert [(row.name, row.calls) for row in report.sections] == [("denoise_step", STEPS)]
    assert report.steps is not None
    assert len(report.steps.host_ns) == STEPS
    assert [use.device for use in report.memory] == ["cpu"]
    assert report.timelines == ()
