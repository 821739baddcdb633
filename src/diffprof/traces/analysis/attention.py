"""Find out which attention ran: fused kernels, or matrix products around a softmax."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffprof.traces.analysis.host import NOTHING, HostTree
from diffprof.traces.analysis.kernels import kernel_kind
from diffprof.traces.analysis.launches import Launches
from diffprof.traces.facts import SLOW_ATTENTION, AlternativeReason, FusedAlternative, TraceAttention
from diffprof.traces.reading.columns import KERNEL, OP, UNKNOWN, Flags, Ints, RecordedTrace

# The implementation, by the name of the operator that launched the kernel, else of the kernel.
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

# The most kernels between a product and its softmax: scale, mask, dtype, dropout, and the computation of a bias.
MAX_KERNELS_BETWEEN = 40
LARGEST_FLASH_HEAD = 256

_DTYPES = {"c10::BFloat16": "bfloat16", "c10::Half": "float16", "float": "float32", "double": "float64"}


@dataclass(frozen=True)
class AttentionUse:
    """Attention by implementation, and which rows of `trace.gpu` are part of any attention."""

    rows: tuple[TraceAttention, ...]
    is_attention: Flags


def attention_use(trace: RecordedTrace, tree: HostTree, launches: Launches) -> AttentionUse:
    """All attention of a trace by implementation and shape, the longest first."""
    search = _AttentionSearch(trace, tree, launches)
    search.find_fused()
    search.find_eager()
    return AttentionUse(search.rows(), search.part_of != UNKNOWN)


class _AttentionSearch:
    def __init__(self, trace: RecordedTrace, tree: HostTree, launches: Launches) -> None:
        self.trace, self.tree = trace, tree
        gpu, host = trace.gpu, trace.host
        self.call = launches.call
        self.op = tree.nearest(self.call, OP)
        self.op_names = [trace.names[host.name[row]] if row != NOTHING else "" for row in self.op]
        self.kinds = [kernel_kind(trace.names[name]) for name in gpu.name]
        self.part_of = np.full(len(gpu), UNKNOWN, dtype=np.int64)
        """The index in `calls` that each row of `trace.gpu` is a part of."""
        self.calls: list[tuple[str, str, str, FusedAlternative | None]] = []
        """Backend, shapes, dtype and alternative."""

    def find_fused(self) -> None:
        """Find kernels with the name of an attention, or launched by the operator of the slow path."""
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
            # Without a record of the operator, each kernel counts as a call.
            key = (op, backend) if op != NOTHING else (-2 - int(row), backend)
            if key not in by_op:
                by_op[key] = len(self.calls)
                self.calls.append((backend, *self._describe(backend, op)))
            self.part_of[row] = by_op[key]

    def find_eager(self) -> None:
        """Find a product, a softmax and a product in a row, launched by one thread: attention that is not fused."""
        host = self.trace.host
        launched = np.flatnonzero((self.call != UNKNOWN) & (self.trace.gpu.kind == KERNEL))
        order = launched[np.argsort(self.call[launched], kind="stable")]
        for place, row in enumerate(order.tolist()):
            if self.part_of[row] != UNKNOWN or not self._is_softmax(row):
                continue
            first, last = self._nearest_product(order, place, -1), self._nearest_product(order, place, 1)
            if first is None or last is None or host.lane[self.call[order[first]]] != host.lane[self.call[order[last]]]:
                continue
            rows = order[first : last + 1]
            has_bias = any(self.op_names[other] in _BIAS_OPS for other in rows[: place - first + 1])
            shapes, dtype, alternative = self._describe("eager", int(self.op[rows[0]]), has_bias)
            self.part_of[rows] = len(self.calls)
            self.calls.append(("eager", shapes, dtype, alternative))

    def rows(self) -> tuple[TraceAttention, ...]:
        gpu = self.trace.gpu
        grouped: dict[tuple[str, str, str, FusedAlternative | None], list[int]] = defaultdict(list)
        for number, call in enumerate(self.calls):
            grouped[call].append(number)
        duration = gpu.end - gpu.start
        rows = []
        for (backend, shapes, dtype, alternative), numbers in grouped.items():
            kernels = np.isin(self.part_of, numbers)
            counts = (len(numbers), int(kernels.sum()), int(duration[kernels].sum()))
            rows.append(TraceAttention(backend, *counts, shapes, dtype, alternative))
        return tuple(sorted(rows, key=lambda row: -row.gpu_ns))

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

    def _nearest_product(self, order: Ints, place: int, direction: int) -> int | None:
        """The position in `order` of the nearest batched product, with only small work before the softmax."""
        for distance in range(1, MAX_KERNELS_BETWEEN + 1):
            other = place + direction * distance
            if not 0 <= other < len(order):
                return None
            row = order[other]
            if self.op_names[row] in _PRODUCT_OPS and self.kinds[row] == "gemm":
                return other
            if self.part_of[row] != UNKNOWN or self.kinds[row] not in ("elementwise", "copy"):
                return None
        return None

    def _describe(self, backend: str, op: int, has_bias: bool = False) -> tuple[str, str, FusedAlternative | None]:
        """The shapes and the dtype of an operator, and the alternative if it is slow."""
        host = self.trace.host
        known = self.tree.climb(np.array([op]), lambda rows, _: host.shapes[rows] != UNKNOWN)[0]
        if known == NOTHING:
            unknown = FusedAlternative("", AlternativeReason.no_shapes)
            return "", "", unknown if backend in SLOW_ATTENTION else None
        dimensions, types = (json.loads(text) for text in self.trace.shapes[host.shapes[known]])
        tensors = [shape for shape in dimensions if _is_shape(shape) and len(shape) >= 3][:3]
        dtype = next((_DTYPES[kind] for kind in types if isinstance(kind, str) and kind in _DTYPES), "")
        shapes = ", ".join(dict.fromkeys("x".join(map(str, shape)) for shape in tensors))
        if backend not in SLOW_ATTENTION or not tensors:
            return shapes, dtype, None
        has_bias = has_bias or (backend == "math" and len(dimensions) > 3 and bool(dimensions[3]))
        return shapes, dtype, fused_alternative(tensors[0][-1], dtype, has_bias)

    def _kernel(self, row: int) -> str:
        return self.trace.names[self.trace.gpu.name[row]]


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)


def fused_alternative(head_size: int, dtype: str, has_bias: bool) -> FusedAlternative:
    """Which of torch's fused implementations accepts such an input."""
    reasons = AlternativeReason
    if dtype == "float64":
        return FusedAlternative("", reasons.float64)
    if head_size % 8 and dtype in ("float16", "bfloat16"):
        pads = head_size < LARGEST_FLASH_HEAD and not has_bias
        return (
            FusedAlternative("flash", reasons.pads_heads) if pads else FusedAlternative("", reasons.odd_head, head_size)
        )
    if has_bias:
        return FusedAlternative("memory-efficient", reasons.takes_bias)
    if dtype == "float32":
        return FusedAlternative("memory-efficient", reasons.half_precision)
    if head_size > LARGEST_FLASH_HEAD:
        return FusedAlternative("memory-efficient", reasons.large_head, head_size)
    return FusedAlternative("flash", reasons.fits)


def _backend(name: str) -> str:
    return next((backend for backend, pattern in BACKENDS if pattern.search(name)), "")
