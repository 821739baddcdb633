"""Cut a window out of a trace of torch.profiler: ``python -m tests.traces.cut_trace SOURCE TARGET START_MS LENGTH_MS``.

The window is in host time, counted from the first launch of GPU work. What is kept: host events that overlap it, GPU
work that was launched in it, and everything that has no time. Events are kept as they are, without their arrows and
without the arguments that diffprof does not read, which are most of the bytes.

The traces in ``tests/traces/real`` were cut from the test data of AMD-AGI/TraceLens by

    python -m tests.traces.cut_trace sd3.5_mi300x.json.gz tests/traces/real/sd3.5_mi300x.json.gz 330 45
    python -m tests.traces.cut_trace timesformer_h100.json.gz tests/traces/real/timesformer_h100.json.gz 0 26
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

Event = dict[str, Any]

GPU_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
RUNTIME = ("cuda_runtime", "cuda_driver")
ARROWS = "ac2g"
UNUSED_ARGUMENTS = ("Concrete Inputs", "Input Strides", "Record function id", "Ev Idx", "Python id", "Python parent id")


def cut(trace: dict[str, Any], start_ms: float, length_ms: float) -> dict[str, Any]:
    """The same trace with the events of a window only."""
    events: list[Event] = trace["traceEvents"]
    gpu = {event["args"]["correlation"] for event in events if event.get("cat") in GPU_WORK}
    launches = [event for event in events if event.get("cat") in RUNTIME and event["args"]["correlation"] in gpu]
    start = min(event["ts"] for event in launches) + 1000 * start_ms
    end = start + 1000 * length_ms
    launched = {event["args"]["correlation"] for event in launches if start <= event["ts"] < end}

    def is_kept(event: Event) -> bool:
        if event.get("cat") in GPU_WORK:
            return event["args"]["correlation"] in launched
        return "ts" not in event or (event["ts"] < end and event["ts"] + event.get("dur", 0) > start)

    kept = [event for event in events if event.get("cat") != ARROWS and is_kept(event)]
    return {**trace, "traceEvents": [_without_unused_arguments(event) for event in kept]}


def _without_unused_arguments(event: Event) -> Event:
    arguments = event.get("args")
    if not isinstance(arguments, dict):
        return event
    return {**event, "args": {name: value for name, value in arguments.items() if name not in UNUSED_ARGUMENTS}}


def main() -> None:
    source, target = map(Path, sys.argv[1:3])
    trace = cut(json.loads(gzip.decompress(source.read_bytes())), *map(float, sys.argv[3:5]))
    data = json.dumps(trace, separators=(",", ":")).encode()
    # Without a time of its own, the file is the same each time that it is made.
    target.write_bytes(gzip.compress(data, 9, mtime=0))
    sys.stdout.write(f"{len(trace['traceEvents']):,} events, {target.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
