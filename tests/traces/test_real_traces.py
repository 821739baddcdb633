"""Real traces with figures that another tool found; run where DIFFPROF_TRACES names the folder that holds them.

The traces and the figures are those of the test data of AMD-AGI/TraceLens.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from diffprof.traces.analysis.explanation import trace_report
from diffprof.traces.facts import HOST, SYNCHRONISATION, TraceReport

FOLDER = os.environ.get("DIFFPROF_TRACES")
SD35, TIMESFORMER = "sd3.5_mi300x.json.gz", "timesformer_h100.json.gz"

pytestmark = pytest.mark.skipif(not FOLDER, reason="DIFFPROF_TRACES does not name a folder with the traces")

# Milliseconds: computation, exposed copies, busy, idle, total.
REFERENCE = {
    SD35: (712.0140, 0.47384, 712.4879, 459.1408, 1171.6287),
    TIMESFORMER: (154.9690, 3.46414, 158.4332, 1.55925, 159.9924),
}


@cache
def report_on(name: str) -> TraceReport:
    return trace_report(Path(str(FOLDER)) / name)


@pytest.mark.parametrize("name", REFERENCE)
def test_the_time_line_agrees_with_the_reference(name: str) -> None:
    (line,) = report_on(name).timelines
    found = (line.computation_ns, line.exposed_copy_ns, line.busy_ns, line.idle_ns, line.total_ns)
    assert [figure / 1e6 for figure in found] == pytest.approx(REFERENCE[name], rel=1e-4)


@pytest.mark.parametrize("name", REFERENCE)
def test_every_nanosecond_is_accounted_for(name: str) -> None:
    report = report_on(name)
    (line,) = report.timelines
    assert line.computation_ns + line.exposed_communication_ns + line.exposed_copy_ns == line.busy_ns
    assert sum(row.idle_ns for row in report.causes) == line.idle_ns
    assert sum(row.gpu_ns for row in report.kernels) == sum(row.gpu_ns for row in report.kinds) == report.gpu_ns


def test_stable_diffusion_waits_for_the_host_inside_of_compiled_code() -> None:
    report = report_on(SD35)
    assert (report.source.platform, report.source.events, report.source.rank) == ("rocm", 239_093, 0)
    assert report.causes[0].cause == HOST
    assert report.causes[0].what.endswith(": call")
    assert report.steps is not None
    assert report.steps.kernels == (1110, 1106, 1106, 1106)
    assert report.compiled is not None
    assert (report.compiled.regions, report.compiled.calls) == (1, 4)
    calls = {row.backend: 0 for row in report.attention}
    for row in report.attention:
        calls[row.backend] += row.calls
    assert calls == {"flash": 241, "eager": 48}


def test_timesformer_computes_attention_the_slow_way() -> None:
    report = report_on(TIMESFORMER)
    assert report.source.platform == "cuda"
    assert [(row.backend, row.calls, row.fast) for row in report.attention] == [("eager", 12, "flash")] * 2
    assert report.kinds[0].kind == "attention"
    assert [row.cause for row in report.causes if row.idle_ns > 500_000][1:] == [SYNCHRONISATION]
    (copy, _) = report.copies
    assert (copy.direction, copy.memory, copy.size_bytes) == ("H2D", "pageable", 38_535_168)
    assert report.memory[0].peak_allocated_bytes == 4_490_752_000
