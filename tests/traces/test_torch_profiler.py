"""What torch.profiler writes here, on the CPU, held against what it says itself."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from diffprof.traces.analysis.explanation import trace_report
from diffprof.traces.facts import TraceReport

STEPS = 3


RECORDING = """
import json, sys, torch

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64))
picture = torch.randn(8, 64)
with torch.no_grad(), torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as profiler:
    for _ in range(int(sys.argv[2])):
        with torch.profiler.record_function("denoise_step"):
            picture = model(picture)
            torch.nn.functional.scaled_dot_product_attention(*[picture.view(1, 2, 4, 64)] * 3)
profiler.export_chrome_trace(sys.argv[1])
rows = [row for row in profiler.key_averages() if row.key.startswith("aten::")]
print(json.dumps({row.key: (row.count, row.self_cpu_time_total, row.cpu_time_total) for row in rows}))
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[TraceReport, dict[str, tuple[int, float, float]]]:
    """The report on a trace, and torch's own figures: for each operator its calls, own and total microseconds.

    From a process of its own: stacks have every thread of the one that they are recorded in.
    """
    path = tmp_path_factory.mktemp("torch") / "trace.json.gz"
    command = [sys.executable, "-c", RECORDING, str(path), str(STEPS)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return trace_report(path), json.loads(said)


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
