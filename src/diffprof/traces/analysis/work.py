"""The work by name and kind: kernels, operators of the host, collective calls."""

from __future__ import annotations

import re

import numpy as np

from diffprof.traces.analysis.host import NOTHING, HostTree
from diffprof.traces.analysis.kernels import kernel_kind
from diffprof.traces.analysis.timeline import is_communication
from diffprof.traces.facts import Collective, HostOp, KernelRow, WorkKind
from diffprof.traces.reading.columns import KERNEL, OP, Flags, RecordedTrace

# The kind of an operator is that of the first match; without a GPU there are no kernels to classify.
_OPS = (
    ("attention", re.compile(r"scaled_dot_product|attention")),
    ("gemm", re.compile(r"::(add|b|badd)*mm$|::(addmv|linear|matmul|dot|einsum)$|mkldnn_linear|::_int_mm|scaled_mm")),
    ("convolution", re.compile(r"conv(?!ert)")),
    ("norm", re.compile(r"norm")),
    (
        "reduction",
        re.compile(r"softmax|::(sum|mean|max|min|amax|amin|argmax|argmin|var|std|cumsum|topk|sort|any|all)$"),
    ),
    (
        "copy",
        re.compile(
            r"::(copy_|_to_copy|to|cat|stack|clone|contiguous|index\w*|gather|scatter\w*|pad|repeat|embedding)$"
        ),
    ),
    (
        "elementwise",
        re.compile(r"::(add|sub|rsub|mul|div|pow|sqrt|rsqrt|exp|log|sin|cos|neg|abs|where|fill|zero|clamp)_?$"),
    ),
    (
        "elementwise",
        re.compile(r"::(gelu|silu|relu|sigmoid|tanh|dropout|masked_fill|upsample\w*|normal|uniform|randn)_?$"),
    ),
)


def kernels(trace: RecordedTrace, is_attention: Flags) -> tuple[KernelRow, ...]:
    """All work on the devices by name, the longest first."""
    gpu = trace.gpu
    duration = gpu.end - gpu.start
    # The same kernel may be part of an attention or a matrix product of its own: two kinds of work.
    keys, group = np.unique(np.stack((gpu.name, is_attention)), axis=1, return_inverse=True)
    group = group.reshape(-1)
    count = np.bincount(group, minlength=keys.shape[1])
    # `bincount` with weights would add up floats; these are exact integers.
    total = np.zeros(keys.shape[1], dtype=np.int64)
    longest = np.zeros(keys.shape[1], dtype=np.int64)
    np.add.at(total, group, duration)
    np.maximum.at(longest, group, duration)
    rows = []
    for number, (name_number, attention) in enumerate(keys.T.tolist()):
        name = trace.names[name_number]
        kind = "attention" if attention else kernel_kind(name)
        rows.append(KernelRow(name, kind, int(count[number]), int(total[number]), int(longest[number])))
    return tuple(sorted(rows, key=lambda row: -row.gpu_ns))


def kinds(rows: tuple[KernelRow, ...]) -> tuple[WorkKind, ...]:
    """The kinds of work, the longest first."""
    sums: dict[str, list[int]] = {}
    for row in rows:
        kind_sums = sums.setdefault(row.kind, [0, 0])
        kind_sums[0] += row.count
        kind_sums[1] += row.gpu_ns
    return tuple(sorted((WorkKind(kind, *values) for kind, values in sums.items()), key=lambda row: -row.gpu_ns))


def host_ops(trace: RecordedTrace, tree: HostTree) -> tuple[HostOp, ...]:
    """The operators by self time, which excludes the operators that they called."""
    host = trace.host
    rows = np.flatnonzero(host.kind == OP)
    if not len(rows):
        return ()
    self_times = host.end - host.start
    callers = tree.nearest(tree.parent[rows], OP)
    called = callers != NOTHING
    # One that ends after its caller is part of the caller's time up to the caller's end.
    inner_ends = np.minimum(host.end[rows[called]], host.end[callers[called]])
    np.subtract.at(self_times, callers[called], inner_ends - host.start[rows[called]])
    names, group = np.unique(host.name[rows], return_inverse=True)
    count = np.bincount(group)
    self_ns, total_ns = np.zeros(len(names), dtype=np.int64), np.zeros(len(names), dtype=np.int64)
    np.add.at(self_ns, group, self_times[rows])
    np.add.at(total_ns, group, (host.end - host.start)[rows])
    ops = [
        HostOp(trace.names[name], op_kind(trace.names[name]), *map(int, values))
        for name, *values in zip(names, count, self_ns, total_ns, strict=True)
    ]
    return tuple(sorted(ops, key=lambda row: -row.self_ns))


def op_kind(name: str) -> str:
    """The kind of work that an operator does."""
    return next((kind for kind, pattern in _OPS if pattern.search(name)), "other")


def collectives(trace: RecordedTrace) -> tuple[Collective, ...]:
    """The communication kernels by name, with the time of each call in order, by which ranks are compared."""
    gpu = trace.gpu
    rows = np.flatnonzero(is_communication(trace) & (gpu.kind == KERNEL))
    calls_by_name = []
    for name in np.unique(gpu.name[rows]):
        calls = rows[gpu.name[rows] == name]
        calls_by_name.append(Collective(trace.names[name], tuple((gpu.end[calls] - gpu.start[calls]).tolist())))
    return tuple(calls_by_name)
