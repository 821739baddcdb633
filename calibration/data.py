"""The published figures that the numbers of the time model are fitted to, with the work that each of them did."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from diffprof.catalogue.accelerators import Accelerator, find_accelerator
from diffprof.prediction.load_table import LoadTable, load_table
from diffprof.prediction.workload import CallLoads, Load, Loads, Workload

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Run:
    """One published time, and under which conditions it was measured."""

    workload: str
    part: str
    """pipeline, step, a component, or a component and a method."""
    accelerator: str
    is_compiled: bool
    attention: str
    quantize: str
    offload: str
    seconds: float
    use: str
    """fit, check, offload or quantize"""
    source: str
    note: str

    @property
    def device(self) -> Accelerator:
        return find_accelerator(self.accelerator)

    @property
    def model(self) -> str:
        return self.workload.split()[0]


@cache
def runs() -> tuple[Run, ...]:
    with (FOLDER / "runs.csv").open(newline="", encoding="utf-8") as file:
        return tuple(
            Run(
                workload=row["workload"], part=row["part"], accelerator=row["accelerator"],
                is_compiled=row["mode"] == "compile", attention=row["attention"], quantize=row["quantize"],
                offload=row["offload"], seconds=float(row["seconds"]), use=row["use"], source=row["source"],
                note=row["note"],
            )
            for row in csv.DictReader(file)
        )  # fmt: skip


@cache
def workloads() -> dict[str, tuple[Workload, LoadTable]]:
    written = json.loads(gzip.decompress((FOLDER / "workloads.json.gz").read_bytes()))
    decoded = {name: decode(values) for name, values in written.items()}
    return {name: (workload, load_table(workload)) for name, workload in decoded.items()}


def decode(values: dict[str, Any]) -> Workload:
    calls = []
    for component, method, times, in_loop, module_calls, loads in values["calls"]:
        calls.append(CallLoads(component, method, times, in_loop, module_calls, Loads(Load(*load) for load in loads)))
    return Workload(tuple(calls), values["steps"])
