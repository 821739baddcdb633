"""Which attention really ran: the fused kernels, and the products and softmax that stand for one."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from diffprof.traces.analysis.host import NOTHING, HostTree
from diffprof.traces.analysis.kernels import kind_of
from diffprof.traces.analysis.launches import Launches
from diffprof.traces.facts import SLOW_ATTENTION, AttentionRow
from diffprof.traces.reading.columns import KERNEL, OP, UNKNOWN, Flags, Ints, Trace

# The implementation, by the operator that launched the kernel; else by the kernel's own name.
BACKENDS = (
    ("sage", re.compile(r"sage|qk_int", re.I)),
    ("xformers", re.compile(r"xformers", re.I)),
    ("aiter", re.compile(r"aiter", re.I)),
    ("flex", re.compile(r"flex_attention", re.I)),
    ("cudnn", re.compile(r"cudnn", re.I)),
    ("memory-efficient", re.compile(r"efficient_attention|fmha_cutlass|AttentionKernel<|mem_eff", re.I)),
    ("flash", re.compile(r"flash|fmha", re.I)),
    ("triton", re.compile(r"attn_(fwd|bwd)|triton", re.I)),
)
_MATH_OP = re.compile(r"scaled_dot_product_attention_math|_sdpa_math|math_attention")
_PRODUCT_OPS = ("aten::bmm", "aten::baddbmm")
_SOFTMAX = re.compile(r"softmax", re.I)
_BIAS_OPS = ("aten::add", "aten::add_", "aten::masked_fill", "aten::masked_fill_", "aten::where", "aten::baddbmm")

# How many kernels may be between a product and its softmax: scale, mask, dtype, dropout; a bias may have to be made.
FURTHEST = 40
LARGEST_HEAD = 256

_DTYPES = {"c10::BFloat16": "bfloat16", "c10::Half": "float16", "float": "float32", "double": "float64"}


@dataclass(frozen=True)
class AttentionUse:
    """The rows for the record, and which rows of `trace.gpu` are part of any attention."""

    rows: tuple[AttentionRow, ...]
    is_attention: Flags


def attention_use(trace: Trace, tree: HostTree, launches: Launches) -> AttentionUse:
    """All attention of a trace, by implementation and shape, what took longest first."""
    found = _Found(trace, tree, launches)
    found.fused()
    found.written_out()
    return AttentionUse(found.rows(), found.part_of != UNKNOWN)


class _Found:
    def __init__(self, trace: Trace, tree: HostTree, launches: Launches) -> None:
        self.trace, self.tree = trace, tree
        gpu, host = trace.gpu, trace.host
        self.call = launches.call
        self.op = tree.nearest(self.call, OP)
        self.op_names = [trace.names[host.name[row]] if row != NOTHING else "" for row in self.op]
        self.kinds = [kind_of(trace.names[name]) for name in gpu.name]
        self.part_of = np.full(len(gpu), UNKNOWN, dtype=np.int64)
        """Which one of `calls` each row of `trace.gpu` is a part of."""
        self.calls: list[tuple[str, str, str, str]] = []
        """Backend, shapes, dtype and what else could have run."""

    def fused(self) -> None:
        """Kernels that are an attention by name, or are called by an operator that is the slow one."""
        by_op: dict[tuple[int, str], int] = {}
        math_ops = self._math_ops()
        for row in np.flatnonzero(self.trace.gpu.kind == KERNEL).tolist():
            math = int(math_ops[row])
            if math != NOTHING:
                backend, op = "math", math
            elif self.kinds[row] == "attention":
                op = int(self.op[row])
                backend = _backend(self.op_names[row]) or _backend(self._kernel(row)) or "other"
            else:
                continue
            # Without a record of the operator, each kernel is taken for a call.
            key = (op, backend) if op != NOTHING else (-2 - int(row), backend)
            if key not in by_op:
                by_op[key] = len(self.calls)
                self.calls.append((backend, *self._described(backend, op)))
            self.part_of[row] = by_op[key]

    def written_out(self) -> None:
        """A product, a softmax and a product in a row, launched by one thread: attention that nobody fused."""
        host = self.trace.host
        launched = np.flatnonzero((self.call != UNKNOWN) & (self.trace.gpu.kind == KERNEL))
        order = launched[np.argsort(self.call[launched], kind="stable")]
        for place, row in enumerate(order.tolist()):
            if self.part_of[row] != UNKNOWN or not self._is_softmax(row):
                continue
            first, last = self._product(order, place, -1), self._product(order, place, 1)
            if first is None or last is None or host.lane[self.call[order[first]]] != host.lane[self.call[order[last]]]:
                continue
            rows = order[first : last + 1]
            biased = any(self.op_names[other] in _BIAS_OPS for other in rows[: place - first + 1])
            shapes, dtype, fast = self._described("eager", int(self.op[rows[0]]), biased)
            self.part_of[rows] = len(self.calls)
            self.calls.append(("eager", shapes, dtype, fast))

    def rows(self) -> tuple[AttentionRow, ...]:
        gpu = self.trace.gpu
        grouped: dict[tuple[str, str, str, str], list[int]] = defaultdict(list)
        for number, call in enumerate(self.calls):
            grouped[call].append(number)
        duration = gpu.end - gpu.start
        found = []
        for (backend, shapes, dtype, fast), numbers in grouped.items():
            own = np.isin(self.part_of, numbers)
            times = (len(numbers), int(own.sum()), int(duration[own].sum()))
            found.append(AttentionRow(backend, *times, shapes, dtype, fast))
        return tuple(sorted(found, key=lambda row: -row.gpu_ns))

    def _math_ops(self) -> Ints:
        """The operator of the slow path that each row of `trace.gpu` was called from."""
        slow = np.array([bool(_MATH_OP.search(name)) for name in self.trace.names], dtype=bool)
        if not slow[self.trace.host.name].any():
            return np.full(len(self.op), NOTHING, dtype=np.int64)
        return self.tree.climb(self.op, lambda rows, _: slow[self.trace.host.name[rows]])

    def _is_softmax(self, row: int) -> bool:
        if _SOFTMAX.search(self.op_names[row]):
            return True
        return self.kinds[row] == "reduction" and bool(_SOFTMAX.search(self._kernel(row)))

    def _product(self, order: Ints, place: int, direction: int) -> int | None:
        """The place of the nearest batched product before or after a softmax, with nothing but small work between."""
        for distance in range(1, FURTHEST + 1):
            other = place + direction * distance
            if not 0 <= other < len(order):
                return None
            row = order[other]
            if self.op_names[row] in _PRODUCT_OPS and self.kinds[row] == "gemm":
                return other
            if self.part_of[row] != UNKNOWN or self.kinds[row] not in ("elementwise", "copy"):
                return None
        return None

    def _described(self, backend: str, op: int, biased: bool = False) -> tuple[str, str, str]:
        """The shapes and the dtype of an operator, and for a slow one, which fast one could have run."""
        host = self.trace.host
        known = self.tree.climb(np.array([op]), lambda rows, _: host.shapes[rows] != UNKNOWN)[0]
        if known == NOTHING:
            return "", "", "unknown: shapes were not recorded" if backend in SLOW_ATTENTION else ""
        dimensions, types = (json.loads(text) for text in self.trace.shapes[host.shapes[known]])
        tensors = [shape for shape in dimensions if isinstance(shape, list) and len(shape) >= 3][:3]
        dtype = next((_DTYPES[kind] for kind in types if kind in _DTYPES), "")
        shapes = ", ".join(dict.fromkeys("x".join(map(str, shape)) for shape in tensors))
        if backend not in SLOW_ATTENTION or not tensors:
            return shapes, dtype, ""
        biased = biased or (backend == "math" and len(dimensions) > 3 and bool(dimensions[3]))
        return shapes, dtype, fast_one(tensors[0][-1], dtype, biased)

    def _kernel(self, row: int) -> str:
        return self.trace.names[self.trace.gpu.name[row]]


def fast_one(head: int, dtype: str, biased: bool) -> str:
    """Which of torch's fused implementations takes such an input."""
    if dtype == "float64":
        return "none: float64 has no fused kernel"
    if head % 8 and dtype in ("float16", "bfloat16"):
        pads = head < LARGEST_HEAD and not biased
        return "flash, which pads heads" if pads else f"none: a head of {head} is no multiple of 8"
    if biased:
        return "memory-efficient: it takes a mask or bias"
    if dtype == "float32":
        return "memory-efficient; flash in half precision"
    return "flash" if head <= LARGEST_HEAD else f"memory-efficient: a head of {head} is too large for flash"


def _backend(name: str) -> str:
    return next((backend for backend, pattern in BACKENDS if pattern.search(name)), "")
