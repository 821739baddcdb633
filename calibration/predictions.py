"""What the time model says about each published figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from calibration.data import Run, workloads
from calibration.kernels import Trace
from diffprof.catalogue.accelerators import find_accelerator
from diffprof.catalogue.efficiency import FittedNumbers
from diffprof.prediction.call_times import PIPELINE, call_times
from diffprof.prediction.device import device_of
from diffprof.prediction.kernel_times import kernel_times
from diffprof.prediction.workload import Workload

UNKNOWN_LAYOUT = 1.15
"""Elementwise operations of a trace may read across memory; it does not say which of them do."""


def seconds_of(run: Run, numbers: FittedNumbers) -> float:
    """The time that the model gives for what a run measured."""
    workload, table = workloads()[run.workload]
    device = device_of(run.device, numbers)
    times = call_times(workload, table, device, run.is_compiled, run.attention != "math")
    return part_seconds(workload, times.total, run.part)


def part_seconds(workload: Workload, seconds: Iterable[float], part: str) -> float:
    """Of the times of all kinds of calls, those of the pipeline, of a step, or of a component."""
    component, _, method = part.partition(".")
    found = 0.0
    for call, each in zip(workload.calls, seconds, strict=True):
        if part == "pipeline":
            found += each * call.times
        elif part == "step":
            found += each * call.times / workload.steps if call.in_loop or call.component == PIPELINE else 0.0
        elif call.component == component:
            found = max(found, each) if not method else found + (each * call.times if call.method == method else 0.0)
    return found


def category_seconds(trace: Trace, numbers: FittedNumbers) -> dict[str, tuple[float, float]]:
    """Predicted and measured seconds of a trace by category of kernels."""
    device = device_of(find_accelerator(trace.accelerator), numbers)
    each = kernel_times(trace.table, device).seconds * trace.table.count
    found: dict[str, tuple[float, float]] = {}
    for category, predicted, measured in zip(trace.categories, each, trace.seconds, strict=True):
        if category in ("elementwise", "other"):
            predicted *= UNKNOWN_LAYOUT
        before = found.get(category, (0.0, 0.0))
        found[category] = (before[0] + float(predicted), before[1] + measured)
    return found


def log_errors(runs: Sequence[Run], numbers: FittedNumbers) -> np.ndarray:
    """Logarithms of predicted against measured times."""
    return np.log([seconds_of(run, numbers) / run.seconds for run in runs])
