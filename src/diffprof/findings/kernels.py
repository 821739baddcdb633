"""Rules about kernels: attention that is not fused, and operations that are shorter than their launch."""

from __future__ import annotations

from collections.abc import Iterator

from diffprof.breakdown.shares import share
from diffprof.breakdown.steps import NANOSECONDS
from diffprof.breakdown.throughput import throughput_table
from diffprof.findings.finding import Finding, Rule, Threshold
from diffprof.record.measured import Measured
from diffprof.record.profile import NO_WORK, Operation, Profile

ATTENTION = "attention"
SOFTMAX = "_softmax"
WRITTEN_OUT = frozenset({"bmm", "baddbmm", SOFTMAX})
"""The operations of unfused attention: QKᵀ, softmax and AV. Fused attention is a single operation."""

WRITTEN_OUT_SHARE = Threshold("written_share", 0.05, "of the MACs or of the bytes: with less there is little to gain")
COMPONENT_SHARE = Threshold(
    "component_share", 0.05, "a component with a smaller share of the time is not worth a change"
)
LOW_PEAK_SHARE = Threshold("peak_share", 0.25, "kernels that are kept busy reach more than a quarter of the peak")
SHORT_OPERATION = Threshold(
    "operation_seconds", 20e-6, "launching an operation takes PyTorch some 10 microseconds on the host"
)
MANY_OPERATIONS = Threshold("operations", 100, "with fewer there is little time to gain")


def attention_written_out(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """The attention of a component is not fused: two matrix products around a softmax, with all scores in memory."""
    for row in throughput_table(profile):
        part = profile.components.get(row.component)
        if part is None or row.share < COMPONENT_SHARE.value:
            continue
        written_out = list(_unfused_operations(profile, row.component))
        work = sum((operation.work * times for operation, times in written_out), NO_WORK)
        macs_share, bytes_share = share(work.macs, part.macs), share(work.moved_bytes, part.work.moved_bytes)
        if max(macs_share, bytes_share) >= WRITTEN_OUT_SHARE.value:
            softmaxes = [op.count * times for op, times in written_out if op.name == SOFTMAX]
            yield Finding(
                "attention_written_out",
                "encoder" if row.role in ("text_encoder", "image_encoder") else "model",
                row.share * max(macs_share, bytes_share),
                {
                    "component": row.component,
                    "class_name": row.class_name,
                    "attentions": sum(softmaxes),
                    "macs_share": macs_share,
                    "bytes_share": bytes_share,
                    "moved_bytes": work.moved_bytes,
                    "component_share": row.share,
                },
            )


def _unfused_operations(profile: Profile, component: str) -> Iterator[tuple[Operation, int]]:
    """The operations of unfused attention in each distinct call, and the number of such calls."""
    for call, times in profile.costs():
        if call.component == component:
            for operation in call.cost.operations:
                if operation.kind == ATTENTION and operation.name in WRITTEN_OUT:
                    yield operation, times


def launch_bound(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """A component is far from the device's peak, because it has many short operations."""
    for row in throughput_table(profile):
        peak, operations, time_ns = row.peak_share, row.ops_per_call, row.ns_per_op
        if peak is None or operations is None or time_ns is None:
            continue
        short = time_ns < SHORT_OPERATION.value * NANOSECONDS and operations >= MANY_OPERATIONS.value
        if short and peak < LOW_PEAK_SHARE.value and row.share >= COMPONENT_SHARE.value:
            yield Finding(
                "launch_bound",
                "cpu" if measured.device.kind == "cpu" else "accelerator",
                row.share * (1 - peak),
                {
                    "component": row.component,
                    "class_name": row.class_name,
                    "operations": round(operations),
                    "operation_seconds": time_ns / NANOSECONDS,
                    "peak_share": peak,
                    "component_share": row.share,
                    "device": measured.device.name,
                    "peak_source": measured.device.peak_source,
                },
            )


ATTENTION_WRITTEN_OUT = Rule(
    "attention_written_out",
    "Attention is not on a fast path: it is written out as matrix products around a softmax.",
    ("model", "encoder"),
    (WRITTEN_OUT_SHARE, COMPONENT_SHARE),
    attention_written_out,
)
LAUNCH_BOUND = Rule(
    "launch_bound",
    "A low share of the device's peak with many short operations: launching them takes the time.",
    ("accelerator", "cpu"),
    (LOW_PEAK_SHARE, SHORT_OPERATION, MANY_OPERATIONS, COMPONENT_SHARE),
    launch_bound,
)
