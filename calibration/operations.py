"""Holds the time model against the operations of traced runs, in total and by kind.

    python -m calibration.operations FILE.json
    python -m calibration.operations FILE.json --accelerator h100-sxm

The file has a list of runs: `gpu`, `what`, and `operations`, each a list of its name, kind (GEMM, CONV_fwd, SDPA_fwd,
NORM_fwd, reduce, elementwise, other), input shapes, input dtypes, count, and mean microseconds on the device. Names and
dtypes may be those of torch.profiler. What a compiler fused has no shapes that could be used, and is left out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calibration.kernels import Trace, trace_of
from calibration.predictions import category_seconds
from diffprof.catalogue.accelerators import find_accelerator
from diffprof.catalogue.efficiency import fitted_numbers

DTYPES = {
    "c10::bfloat16": "bfloat16", "c10::half": "float16", "half": "float16", "float": "float32", "double": "float64",
    "long int": "int64", "long": "int64", "int": "int32", "unsigned char": "uint8", "tensorlist": "list",
    "c10::complex<float>": "complex64", "c10::complex<double>": "complex128", "c10::float8_e4m3fn": "float8_e4m3fn",
}  # fmt: skip
"""The dtypes of torch.profiler, by the names that diffprof has for them."""

SMALLEST = 0.03
"""The share of a run's time below which a kind is not shown."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Hold the time model against the operations of traced runs.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--accelerator", help="instead of the one that the file names")
    chosen = parser.parse_args(arguments)
    for trace in read_traces(chosen.file, chosen.accelerator):
        print(line(trace))  # noqa: T201


def read_traces(path: Path, accelerator: str | None = None) -> list[Trace]:
    """The runs of a file."""
    written = json.loads(path.read_text(encoding="utf-8"))
    runs = written if isinstance(written, list) else [written]
    return [_trace(run, accelerator or run["gpu"]) for run in runs]


def _trace(run: dict[str, Any], accelerator: str) -> Trace:
    rows = [_row(*operation[:6]) for operation in run["operations"]]
    return trace_of(find_accelerator(accelerator).name, run.get("what", "operations"), rows)


def _row(
    name: str, category: str, shapes: Any, dtypes: Sequence[str], count: int, microseconds: float
) -> dict[str, str]:
    """An operation as kernels.csv has it."""
    return {
        "operation": name.removeprefix("aten::"),
        "category": category,
        "shapes": json.dumps([shape for shape in shapes if shape]),
        "dtypes": " ".join(DTYPES.get(dtype.lower(), dtype) for dtype in dtypes if dtype),
        "count": str(count),
        "microseconds": str(microseconds),
        "strided_bytes": "",
    }


def line(trace: Trace) -> str:
    """Predicted against measured time, in total and for each kind that takes a part of the time."""
    kinds = category_seconds(trace, fitted_numbers())
    predicted, measured = (sum(times[place] for times in kinds.values()) for place in (0, 1))
    shown = {kind: times for kind, times in kinds.items() if times[1] >= SMALLEST * measured}
    parts = ", ".join(f"{kind} {times[0] / times[1]:.2f}" for kind, times in shown.items())
    return f"{trace.accelerator}, {trace.name}: {measured * 1e3:.1f} ms, predicted {predicted / measured:.2f}: {parts}"


if __name__ == "__main__":
    main()
