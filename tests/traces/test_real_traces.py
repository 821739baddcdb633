"""Real traces with figures that another tool found; run where DIFFPROF_TRACES names the folder that holds them.

The traces and the figures are those of the test data of AMD-AGI/TraceLens.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from diffprof.traces.analysis.explain import explain_trace
from diffprof.traces.facts import HOST, SYNCHRONISATION, TraceExplanation

FOLDER = os.environ.get("DIFFPROF_TRACES")
SD35, TIMESFORMER = "sd3.5_mi300x.json.gz", "timesformer_h100.json.gz"

pytestmark = pytest.mark.skipif(not FOLDER, reason="DIFFPROF_TRACES does not name a folder with the traces")

# Milliseconds: computation, exposed copies, busy, idle, total.
REFERENCE = {
    SD35: (712.0140, 0.47384, 712.4879, 459.1408, 1171.6287),
    TIMESFORMER: (154.9690, 3.46414, 158.4332, 1.55925, 159.9924),
}


@cache
def explain(name: str) -> TraceExplanation:
    return explain_trace(Path(str(FOLDER)) / name)


@pytest.mark.parametrize("name", REFERENCE)
def test_the_time_line_agrees_with_the_reference(name: str) -> None:
    (line,) = explain(name).timelines
    found = (line.computation_ns, line.exposed_copy_ns, line.busy_ns, line.idle_ns, line.total_ns)
    assert [figure / 1e6 for figure in found] == pytest.approx(REFERENCE[name], rel=1e-4)


@pytest.mark.parametrize("name", REFERENCE)
def test_every_nanosecond_is_accounted_for(name: str) -> None:
    explanation = explain(name)
    (line,) = explanation.timelines
    assert line.computation_ns + line.exposed_communication_ns + line.exposed_copy_ns == line.busy_ns
    assert sum(row.idle_ns for row in explanation.causes) == line.idle_ns
    assert (
        sum(row.gpu_ns for row in explanation.kernels)
        == sum(row.gpu_ns for row in explanation.kinds)
        == explanation.gpu_ns
    )


def test_stable_diffusion_waits_for_the_host_inside_of_compiled_code() -> None:
    explanation = explain(SD35)
    assert (explanation.source.platform, explanation.source.events, explanation.source.rank) == ("rocm", 239_093, 0)
    assert explanation.causes[0].cause == HOST
    assert explanation.causes[0].what.endswith(": call")
    assert explanation.steps is not None
    assert explanation.steps.kernels == (1110, 1106, 1106, 1106)
    assert explanation.compiled is not None
    assert (explanation.compiled.regions, explanation.compiled.calls) == (1, 4)
    calls = {row.backend: 0 for row in explanation.attention}
    for row in explanation.attention:
        calls[row.backend] += row.calls
    assert calls == {"flash": 241, "eager": 48}


def test_timesformer_computes_attention_the_slow_way() -> None:
    explanation = explain(TIMESFORMER)
    assert explanation.source.platform == "cuda"
    assert [(row.backend, row.calls, row.fast) for row in explanation.attention] == [("eager", 12, "flash")] * 2
    assert explanation.kinds[0].kind == "attention"
    assert [row.cause for row in explanation.causes if row.idle_ns > 500_000][1:] == [SYNCHRONISATION]
    (copy, _) = explanation.copies
    assert (copy.direction, copy.memory, copy.size_bytes) == ("H2D", "pageable", 38_535_168)
    assert explanation.memory[0].peak_allocated_bytes == 4_490_752_000
