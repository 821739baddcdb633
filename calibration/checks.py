"""How good the predictions are: on what was fitted, on devices and models that were left out, and their intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from calibration.data import FOLDER, Run, runs, workloads
from calibration.kernels import traces
from calibration.predictions import category_seconds, part_seconds, seconds_of
from diffprof.catalogue.efficiency import FittedNumbers, fitted_numbers
from diffprof.prediction.bounds import bound_seconds
from diffprof.prediction.device import device_of
from diffprof.prediction.time import Job, predict_time
from diffprof.record.run_settings import RunSettings

FOLDS = FOLDER / "folds.json"


@dataclass(frozen=True)
class Checked:
    """A published time and what is predicted for it."""

    run: Run
    predicted: float
    low: float
    high: float
    bound: float

    @property
    def error(self) -> float:
        return abs(self.predicted / self.run.seconds - 1)

    @property
    def is_inside(self) -> bool:
        return self.low <= self.run.seconds <= self.high


def fitted() -> list[Checked]:
    """Every run that was fitted, with the numbers that diffprof comes with."""
    return [check(run, fitted_numbers(), "device") for run in training_runs()]


def left_out(kind: str) -> list[Checked]:
    """Every run of a device (``accelerator``) or a model, with the numbers that were fitted without it."""
    basis = "family" if kind == "accelerator" else "device"
    return [
        check(run, numbers, basis)
        for held, numbers in folds(kind)
        for run in training_runs()
        if held == _key(run, kind)
    ]


def others() -> list[Checked]:
    """Runs that were never fitted: older software, approximate figures."""
    usable = [run for run in runs() if run.use == "check" and run.workload in workloads()]
    return [check(run, fitted_numbers(), "device") for run in usable]


def training_runs() -> list[Run]:
    return [run for run in runs() if run.use == "fit" and run.workload in workloads()]


def folds(kind: str) -> Iterator[tuple[str, FittedNumbers]]:
    """What was left out, and the numbers that were fitted without it."""
    for fold in json.loads(FOLDS.read_text(encoding="utf-8")):
        if fold["kind"] == kind:
            values = {tuple(key.split(":")): value for key, value in fold["numbers"].items()}
            yield fold["held"], fitted_numbers().with_values(values)


def _key(run: Run, kind: str) -> str:
    return run.accelerator if kind == "accelerator" else run.model


def check(run: Run, numbers: FittedNumbers, basis: str) -> Checked:
    """What is predicted for a run, with its interval and its bound."""
    workload, table = workloads()[run.workload]
    device = device_of(run.device, numbers)
    attention = "math" if run.attention == "math" else "sdpa"
    whole = predict_time(
        Job(workload, table, RunSettings(compiled=run.is_compiled, attention=attention)), device, basis
    )
    predicted = seconds_of(run, numbers)
    floor = bound_seconds(table, device, run.is_compiled)
    bounds = [
        float(sum(floor[place] * table.count[place] for place in range(len(floor)) if table.call[place] == number))
        for number in range(len(workload.calls))
    ]
    bound = part_seconds(workload, bounds, run.part)
    low = max(bound, predicted * whole.low_seconds / whole.total_seconds)
    return Checked(run, predicted, low, predicted * whole.high_seconds / whole.total_seconds, bound)


def median_error(checked: Sequence[Checked]) -> float:
    return median(one.error for one in checked)


def coverage(checked: Sequence[Checked]) -> float:
    """The share of measured times that lie in their interval."""
    return sum(one.is_inside for one in checked) / len(checked)


def spread(checked: Sequence[Checked]) -> float:
    """Standard deviation of the logarithm, from the middle of the errors so that a wrong figure does not count."""
    logs = sorted(abs(math.log(one.predicted / one.run.seconds)) for one in checked)
    return logs[int(0.68 * len(logs))]


PAGE = FOLDER.parent / "docs" / "prediction.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def results_table() -> str:
    """How good it is, for docs/prediction.md."""
    rows = {
        "runs that were fitted": fitted(),
        "devices that were left out": left_out("accelerator"),
        "models that were left out": left_out("model"),
        "runs that were never fitted": others(),
    }
    lines = ["| what | runs | median error | nine of ten within | in the interval |", "|---|---|---|---|---|"]
    for what, checked in rows.items():
        worst = sorted(one.error for one in checked)[int(0.9 * len(checked))]
        figures = f"{median_error(checked):.1%} | {worst:.0%} | {coverage(checked):.0%}"
        lines.append(f"| {what} | {len(checked)} | {figures} |")
    return "\n".join(lines)


def write_page() -> None:
    """Put the table into docs/prediction.md."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{results_table()}\n{END}{after}", encoding="utf-8")


def trace_errors() -> dict[tuple[str, str], tuple[float, dict[str, float]]]:
    """By accelerator and trace: predicted against measured time of the kernels, in total and by category."""
    found = {}
    for trace in traces():
        categories = category_seconds(trace, fitted_numbers())
        predicted, measured = (sum(times[place] for times in categories.values()) for place in (0, 1))
        ratios = {name: times[0] / times[1] for name, times in categories.items()}
        found[trace.accelerator, trace.name] = (predicted / measured, ratios)
    return found
