"""Real traces: whole ones against another tool, if they are here, and windows of them against brute force.

The whole traces are test data of AMD-AGI/TraceLens. They are looked for in ``../shared/traces``, beside the repository,
or in the folder that DIFFPROF_TRACES names. The windows are in ``tests/traces/real``.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from diffprof.traces import TraceExplanation, TraceRequest, explain_request, explain_trace
from diffprof.traces.facts import HOST, SYNCHRONISATION, AlternativeReason, FusedAlternative
from tests.traces.cut_trace import cut

WINDOWS = Path(__file__).parent / "real"
WHOLE = Path(os.environ.get("DIFFPROF_TRACES", Path(__file__).parents[2].parent / "shared" / "traces"))
SD35, TIMESFORMER = "sd3.5_mi300x.json.gz", "timesformer_h100.json.gz"
TRACES = (SD35, TIMESFORMER)

needs_whole_traces = pytest.mark.skipif(
    not all((WHOLE / name).exists() for name in TRACES),
    reason="the whole traces are not here; DIFFPROF_TRACES can name their folder",
)

# Milliseconds by TraceLens: computation, exposed copies, busy, idle, total.
REFERENCE = {
    SD35: (712.0140, 0.47384, 712.4879, 459.1408, 1171.6287),
    TIMESFORMER: (154.9690, 3.46414, 158.4332, 1.55925, 159.9924),
}


@cache
def explain(folder: Path, name: str) -> TraceExplanation:
    return explain_trace(folder / name)


def timeline_times(explanation: TraceExplanation) -> tuple[int, ...]:
    (line,) = explanation.timelines
    return (line.computation_ns, line.exposed_copy_ns, line.busy_ns, line.idle_ns, line.total_ns)


def check_sums(explanation: TraceExplanation) -> None:
    """Every nanosecond is accounted for."""
    (line,) = explanation.timelines
    assert line.computation_ns + line.exposed_communication_ns + line.exposed_copy_ns == line.busy_ns
    assert sum(row.idle_ns for row in explanation.causes) == line.idle_ns
    assert sum(row.gpu_ns for row in explanation.kernels) == explanation.gpu_ns
    assert sum(row.gpu_ns for row in explanation.kinds) == explanation.gpu_ns


class TestWindows:
    """The windows in the repository: every number follows from the events by a second, plain calculation."""

    @pytest.mark.parametrize("name", TRACES)
    def test_the_timeline_agrees_with_brute_force(self, name: str) -> None:
        times = brute_force_times(read_events(name))
        assert times["computation"] > 0
        assert timeline_times(explain(WINDOWS, name)) == (
            times["computation"],
            times["copy"],
            times["computation"] + times["copy"],
            times["idle"],
            sum(times.values()),
        )

    @pytest.mark.parametrize("name", TRACES)
    def test_every_nanosecond_is_accounted_for(self, name: str) -> None:
        check_sums(explain(WINDOWS, name))

    @pytest.mark.parametrize("name", TRACES)
    def test_every_kernel_is_counted_with_its_time(self, name: str) -> None:
        calls: Counter[str] = Counter()
        times: Counter[str] = Counter()
        for event in read_events(name):
            if event.get("cat") in GPU_WORK:
                calls[event["name"]] += 1
                times[event["name"]] += nanoseconds(event["dur"])
        rows = explain(WINDOWS, name).kernels
        assert len({row.name for row in rows}) == len(calls)
        for kernel in calls:
            same_name = [row for row in rows if row.name == kernel]
            assert sum(row.count for row in same_name) == calls[kernel]
            assert sum(row.gpu_ns for row in same_name) == times[kernel]

    @pytest.mark.parametrize("name", TRACES)
    def test_every_launch_latency_is_that_of_the_events(self, name: str) -> None:
        events = read_events(name)
        launched = {
            event["args"]["correlation"]: nanoseconds(event["ts"])
            for event in events
            if event.get("cat") in ("cuda_runtime", "cuda_driver")
        }
        latencies = [
            nanoseconds(event["ts"]) - launched[event["args"]["correlation"]]
            for event in events
            if event.get("cat") in GPU_WORK
        ]
        launches = explain(WINDOWS, name).launches
        assert launches is not None
        assert (launches.launched, launches.latency_longest_ns) == (len(latencies), max(latencies))

    def test_stable_diffusion_waits_for_the_host_in_compiled_code(self) -> None:
        explanation = explain(WINDOWS, SD35)
        assert (explanation.source.platform, explanation.source.rank) == ("rocm", 0)
        assert explanation.source.device_names == ("AMD Instinct MI300X",)
        assert (explanation.causes[0].cause, explanation.causes[0].what.endswith(": call")) == (HOST, True)
        assert explanation.compiled is not None
        assert (explanation.compiled.regions, explanation.compiled.calls) == (1, 2)
        assert explanation.scheduler is not None
        assert {row.backend for row in explanation.attention} == {"flash"}

    def test_timesformer_computes_attention_the_slow_way(self) -> None:
        explanation = explain(WINDOWS, TIMESFORMER)
        assert explanation.source.platform == "cuda"
        assert {row.backend for row in explanation.attention} == {"eager"}
        assert {row.alternative for row in explanation.attention} == {FusedAlternative("flash", AlternativeReason.fits)}
        assert explanation.kinds[0].kind == "attention"
        assert any(row.cause == SYNCHRONISATION and row.idle_ns > 500_000 for row in explanation.causes)
        assert (explanation.copies[0].direction, explanation.copies[0].size_bytes) == ("H2D", 38_535_168)

    @pytest.mark.parametrize("name", TRACES)
    def test_an_overlay_has_all_events_and_the_findings(self, name: str, tmp_path: Path) -> None:
        target = tmp_path / "overlay.json"
        explain_request(TraceRequest((WINDOWS / name,), overlay=target))
        events = read_events(name)
        overlaid = json.loads(target.read_bytes())["traceEvents"]
        assert overlaid[: len(events)] == events
        assert {event["pid"] for event in overlaid[len(events) :]} == {"diffprof"}


@needs_whole_traces
class TestWholeTraces:
    """The whole traces, with the numbers that TraceLens found in them."""

    @pytest.mark.parametrize("name", TRACES)
    def test_the_timeline_agrees_with_the_reference(self, name: str) -> None:
        times = [time / 1e6 for time in timeline_times(explain(WHOLE, name))]
        assert times == pytest.approx(REFERENCE[name], rel=1e-4)

    @pytest.mark.parametrize("name", TRACES)
    def test_every_nanosecond_is_accounted_for(self, name: str) -> None:
        check_sums(explain(WHOLE, name))

    def test_stable_diffusion_waits_for_the_host_in_compiled_code(self) -> None:
        explanation = explain(WHOLE, SD35)
        source = explanation.source
        assert (source.platform, source.events, source.rank) == ("rocm", 239_093, 0)
        assert explanation.causes[0].cause == HOST
        assert explanation.causes[0].what.endswith(": call")
        assert explanation.steps is not None
        assert explanation.steps.kernels == (1110, 1106, 1106, 1106)
        assert explanation.compiled is not None
        assert (explanation.compiled.regions, explanation.compiled.calls) == (1, 4)
        calls: Counter[str] = Counter()
        for row in explanation.attention:
            calls[row.backend] += row.calls
        assert calls == {"flash": 241, "eager": 48}

    def test_timesformer_computes_attention_the_slow_way(self) -> None:
        explanation = explain(WHOLE, TIMESFORMER)
        assert explanation.source.platform == "cuda"
        flash = FusedAlternative("flash", AlternativeReason.fits)
        assert [(row.backend, row.calls, row.alternative) for row in explanation.attention] == [
            ("eager", 12, flash),
            ("eager", 12, flash),
        ]
        assert explanation.kinds[0].kind == "attention"
        assert [row.cause for row in explanation.causes if row.idle_ns > 500_000][1:] == [SYNCHRONISATION]
        (copy, _) = explanation.copies
        assert (copy.direction, copy.memory, copy.size_bytes) == ("H2D", "pageable", 38_535_168)
        assert explanation.memory[0].peak_allocated_bytes == 4_490_752_000

    def test_a_window_is_what_the_script_cuts_out_of_the_whole(self) -> None:
        whole = json.loads(gzip.decompress((WHOLE / TIMESFORMER).read_bytes()))
        assert cut(whole, 0, 26)["traceEvents"] == read_events(TIMESFORMER)


GPU_WORK = {"kernel": "computation", "gpu_memset": "computation", "gpu_memcpy": "copy"}


def read_events(name: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(gzip.decompress((WINDOWS / name).read_bytes()))["traceEvents"]
    return events


def nanoseconds(microseconds: float) -> int:
    return round(microseconds * 1000)


def brute_force_times(events: list[dict[str, Any]]) -> Counter[str]:
    """How long the GPU computed, only copied or was idle: by a look at each interval in which nothing changes."""
    changes: list[tuple[int, int, str]] = []
    for event in events:
        if event.get("cat") in GPU_WORK:
            start = nanoseconds(event["ts"])
            kind = GPU_WORK[event["cat"]]
            changes += [(start, 1, kind), (start + nanoseconds(event["dur"]), -1, kind)]
    times: Counter[str] = Counter()
    active: Counter[str] = Counter()
    before = min(changes)[0]
    for time, change, kind in sorted(changes):
        state = "computation" if active["computation"] else "copy" if active["copy"] else "idle"
        times[state] += time - before
        active[kind] += change
        before = time
    return times
