"""Whole commands as processes: how long each takes and how much memory it holds at most."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

SOURCE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Run:
    """One process from start to end."""

    seconds: float
    peak_bytes: int
    output: str


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Run:
    """Run a Python command (what comes after ``python``) and measure it; it must succeed."""
    paths = [str(SOURCE / "src"), str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **(environment or {})}
    with tempfile.TemporaryFile() as output:
        begun = time.perf_counter()
        process = subprocess.Popen([sys.executable, *command], env=variables, stdout=output, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"python {' '.join(command)} ended with {process.returncode}")
        output.seek(0)
        unit = 1 if sys.platform == "darwin" else 1024
        return Run(seconds, usage.ru_maxrss * unit, output.read().decode())


def interleaved(runs: Mapping[str, Callable[[], Run]], repeats: int) -> dict[str, Run]:
    """The median run of each, taken in turns so that whatever else the machine does hits all of them alike."""
    taken: dict[str, list[Run]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, start in runs.items():
            taken[name].append(start())
    return {name: _median(found) for name, found in taken.items()}


def _median(runs: Sequence[Run]) -> Run:
    return Run(median(one.seconds for one in runs), max(one.peak_bytes for one in runs), runs[-1].output)
