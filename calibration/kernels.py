"""Operations of real GPU runs with their shapes and times, as loads of the time model."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from diffprof.prediction.load_table import LoadTable, load_table
from diffprof.prediction.workload import ATTENTION, CONVOLUTION, GEMM, MEMORY, CallLoads, Load, Loads, Workload

FOLDER = Path(__file__).parent
BYTES = {"float64": 8, "int64": 8, "complex128": 16, "complex64": 8, "float32": 4, "int32": 4, "bool": 1, "uint8": 1}
KINDS = {
    "GEMM": "linear",
    "CONV_fwd": "convolution",
    "SDPA_fwd": "attention",
    "NORM_fwd": "norm",
    "reduce": "reduction",
}


@dataclass(frozen=True)
class Trace:
    """The kernels of one traced run on one accelerator, by category."""

    accelerator: str
    name: str
    categories: tuple[str, ...]
    """Of each load."""
    seconds: tuple[float, ...]
    """Measured, of all executions of each load."""
    table: LoadTable


@cache
def traces() -> tuple[Trace, ...]:
    """All traces whose kernels torch launched itself; what a compiler fused has no shapes that could be used."""
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    with (FOLDER / "kernels.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            groups.setdefault((row["accelerator"], row["trace"]), []).append(row)
    return tuple(trace_of(*key, rows) for key, rows in groups.items())


def trace_of(accelerator: str, name: str, rows: list[dict[str, str]]) -> Trace:
    """The run of some rows as kernels.csv has them."""
    loads, categories, seconds = [], [], []
    for row in rows:
        load = load_of_kernel(row)
        if load is not None:
            loads.append(load)
            categories.append(row["category"])
            seconds.append(int(row["count"]) * float(row["microseconds"]) * 1e-6)
    call = CallLoads(name, "forward", 1, True, 0, Loads(loads))
    return Trace(accelerator, name, tuple(categories), tuple(seconds), load_table(Workload((call,), 1)))


def load_of_kernel(row: dict[str, str]) -> Load | None:
    """The load of one row of kernels.csv; None for what says too little, or copies from the host."""
    shapes, dtypes = json.loads(row["shapes"]), row["dtypes"].split()
    count = int(row["count"])
    if not shapes or row["category"] == "triton" or float(row["microseconds"]) > 50_000:
        return None
    make = {"GEMM": _gemm, "CONV_fwd": _convolution, "SDPA_fwd": _attention}.get(row["category"], _memory)
    load = make(row["operation"], shapes, dtypes, count, KINDS.get(row["category"], "elementwise"))
    return None if load is None else replace(load, strided_bytes=int(row["strided_bytes"] or 0))


def _size(dtype: str) -> int:
    return BYTES.get(dtype, 2)


def _gemm(operation: str, shapes: list[Any], dtypes: list[str], count: int, kind: str) -> Load:
    a, b = shapes[1:3] if operation in ("addmm", "baddbmm") else shapes[:2]
    batch = a[0] if len(a) == 3 else 1
    rows, inner, columns = a[-2], a[-1], b[-1]
    size = _size(dtypes[0])
    return Load(
        GEMM, kind, dtypes[0], count, batch * rows * inner * columns, 0,
        size * (prod(a) + prod(b)), size * batch * rows * columns,
        batch=batch, rows=rows, columns=columns, inner=inner,
    )  # fmt: skip


def _convolution(operation: str, shapes: list[Any], dtypes: list[str], count: int, kind: str) -> Load | None:
    x, weight = shapes[0], shapes[1]
    taps = prod(weight[2:])
    # Stride and padding are not recorded: patches are as far apart as they are large, all else has stride 1; of the
    # causal convolutions of videos, padding is part of the input.
    if taps == 1:
        space = prod(x[2:])
    elif weight[2:] == weight[2:][:1] * len(weight[2:]) and weight[-1] in (2, 14, 16):
        space = prod(size // kernel for size, kernel in zip(x[2:], weight[2:], strict=True))
    elif len(x) == 5 and weight[2] == 1:
        space = x[2] * prod(size // kernel for size, kernel in zip(x[3:], weight[3:], strict=True))
    elif len(x) == 5:
        space = prod(size - kernel + 1 for size, kernel in zip(x[2:], weight[2:], strict=True))
    else:
        space = prod(x[2:])
    inner, size = prod(weight[1:]), _size(dtypes[0])
    out = x[0] * weight[0] * space
    return Load(
        CONVOLUTION, kind, dtypes[0], count, out * inner, 0, size * (prod(x) + prod(weight)), size * out,
        rows=x[0] * space, columns=weight[0], inner=inner, weight_bytes=size * prod(weight), taps=taps,
    )  # fmt: skip


def _attention(operation: str, shapes: list[Any], dtypes: list[str], count: int, kind: str) -> Load:
    query, key = shapes[0], shapes[1]
    batch, size = prod(query[:-2]), _size(dtypes[0])
    macs = 2 * batch * query[-2] * key[-2] * query[-1]
    return Load(
        ATTENTION, kind, dtypes[0], count, macs, 0, size * sum(prod(shape) for shape in shapes[:3]),
        size * prod(query), batch=batch, rows=query[-2], columns=key[-2], inner=query[-1],
        masked="efficient" in operation,
    )  # fmt: skip


def _memory(operation: str, shapes: list[Any], dtypes: list[str], count: int, kind: str) -> Load:
    kind = "softmax" if "softmax" in operation else kind
    if shapes[0] and isinstance(shapes[0][0], list):
        elements = sum(prod(shape) for shape in shapes[0])
        return _moving(kind, "bfloat16", count, 2 * elements, 2 * elements, elements, True)
    sizes = [_size(dtype) for dtype in dtypes] + [2] * len(shapes)
    counts = [prod(shape) for shape in shapes]
    most = max(counts)
    if operation == "copy_":
        # Whether the layouts differ is not recorded: copies in one dtype are made to change them.
        same = len(set(dtypes[:2])) == 1
        return _moving(kind, dtypes[0], count, counts[-1] * sizes[len(shapes) - 1], counts[0] * sizes[0], most, same)
    if operation in ("fill_", "zero_"):
        return _moving(kind, dtypes[0], count, 0, counts[0] * sizes[0], most, False)
    if operation == "index_select":
        moved = counts[-1] * shapes[0][-1] * 2
        return _moving(kind, dtypes[0], count, moved, moved, moved // 2, True)
    read = sum(size * number for size, number in zip(sizes, counts, strict=False))
    written = 0 if kind == "reduction" else most * max(sizes[: len(shapes)])
    is_scattered = kind == "elementwise" and len({number for number in counts if number > 1}) > 1
    return _moving(kind, dtypes[0], count, read, written, most, is_scattered)


def _moving(kind: str, dtype: str, count: int, read: int, written: int, elements: int, scattered: bool) -> Load:
    return Load(MEMORY, kind, dtype, count, 0, 1, read, written, elements=elements, scattered=scattered)
