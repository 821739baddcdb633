"""Reading traces: a real one against HolisticTraceAnalysis, and one of five million events made here.

The real one is ``sd3.5_mi300x.json.gz`` of the test data of AMD-AGI/TraceLens; DIFFPROF_TRACES names its folder.
The other tool has its own folder, as it brings other versions of libraries along; DIFFPROF_HTA names it:
``pip install --target FOLDER HolisticTraceAnalysis==0.5.0``.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from benchmarks.processes import Run, interleaved, run

REAL = "sd3.5_mi300x.json.gz"
EVENTS = 5_000_000

# What it takes to know where the time went and why it was idle: load, temporal breakdown, idle time breakdown.
OTHER = """
import sys
from hta.trace_analysis import TraceAnalysis

analysis = TraceAnalysis(trace_dir=sys.argv[1])
analysis.get_temporal_breakdown(visualize=False)
analysis.get_idle_time_breakdown(visualize=False)
"""
MISSING = (
    "left out: HolisticTraceAnalysis; set DIFFPROF_TRACES to the folder of sd3.5_mi300x.json.gz, and DIFFPROF_HTA to a "
    "folder that `pip install --target FOLDER HolisticTraceAnalysis==0.5.0` filled\n"
)
OURS = "import sys; from diffprof.traces import explain_trace; explain_trace(sys.argv[1])"


def against_holistic_trace_analysis(repeats: int) -> tuple[Run, Run] | None:
    """HolisticTraceAnalysis and diffprof on the same trace, as whole processes; None where one of them is not here."""
    folder, other = os.environ.get("DIFFPROF_TRACES"), os.environ.get("DIFFPROF_HTA")
    if not folder or not other:
        sys.stderr.write(MISSING)
        return None
    with tempfile.TemporaryDirectory() as only:
        # The other tool reads all traces of a folder.
        trace = Path(only) / REAL
        trace.symlink_to(Path(folder).resolve() / REAL)
        commands = {
            "other": lambda: run(("-c", OTHER, only), {"PYTHONPATH": other}),
            "ours": lambda: run(("-c", OURS, str(trace))),
        }
        found = interleaved(commands, repeats)
    return found["other"], found["ours"]


def five_million_events() -> Run:
    """The command on a trace of that size."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "large.json"
        with trace.open("w", encoding="utf-8") as file:
            write_trace(file, EVENTS)
        return run(("-m", "diffprof", "trace", str(trace), "--json"))


def write_trace(file: TextIO, events: int) -> None:
    """A trace of an eager pipeline: for each kernel a Python function, an operator, a launch and two arrows."""
    file.write('{"schemaVersion":1,"cuda_runtime_version":12040,"traceEvents":[')
    now = device_free = 2_915_995_397_000_000
    for number in range(events // 6):
        started = max(now + 18_000, device_free)
        took = number * 7919 % 40_000 + 2_000
        file.write(",\n" if number else "\n")
        file.write(",\n".join(_events(number, now, started, took)))
        device_free = started + took
        now += 31_000
    file.write("\n]}\n")


def _events(number: int, now: int, started: int, took: int) -> Iterator[str]:
    host, device, launch = '"pid":7,"tid":7', '"pid":0,"tid":7', f'"correlation":{number + 1}'
    shapes = '"Input type":["c10::BFloat16","c10::BFloat16"],"Input Dims":[[2,4096,1536],[1536,1536]]'
    kernel = f"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_{number % 100}>(Params)"
    function = f"diffusers/models/layer{number % 97}.py({number % 500}): forward"
    yield _event("python_function", function, host, _time(now, 30_000), f'"Python id":{number}')
    yield _event("cpu_op", "aten::mm", host, _time(now + 2_000, 20_000), shapes)
    yield _event("cuda_runtime", "cudaLaunchKernel", host, _time(now + 10_000, 5_000), launch)
    yield f'{{"ph":"s","id":{number + 1},{host},{_time(now + 10_000)},"cat":"ac2g","name":"ac2g"}}'
    args = f'"device":0,"stream":7,{launch},"grid":[1,1,1],"block":[128,1,1]'
    yield _event("kernel", kernel, device, _time(started, took), args)
    yield f'{{"ph":"f","id":{number + 1},{device},{_time(started)},"cat":"ac2g","name":"ac2g","bp":"e"}}'


def _event(category: str, name: str, place: str, time: str, args: str) -> str:
    return f'{{"ph":"X","cat":"{category}","name":"{name}",{place},{time},"args":{{{args}}}}}'


def _time(start: int, took: int | None = None) -> str:
    """Nanoseconds as torch.profiler writes them: microseconds with three decimals."""
    text = f'"ts":{start // 1000}.{start % 1000:03}'
    return text if took is None else f'{text},"dur":{took // 1000}.{took % 1000:03}'
