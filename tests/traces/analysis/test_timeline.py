"""The time line of a device, with figures worked out by hand (in microseconds; the record has nanoseconds)."""

from __future__ import annotations

import pytest

from diffprof.traces.analysis.timeline import copy_kind
from tests.traces.conftest import Explain
from tests.traces.trace_builder import TraceBuilder

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def test_each_moment_counts_once_and_for_the_first_that_holds(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 0, 200)
    builder.gpu("gemm", 10, 40)
    builder.gpu("gemm", 30, 50, stream=8)
    builder.gpu(NCCL, 45, 70, stream=9)
    builder.gpu("Memcpy HtoD (Pinned -> Device)", 60, 90, category="gpu_memcpy", stream=10, bytes=3000)
    builder.gpu("Memset (Device)", 100, 110, category="gpu_memset")
    line = explain_built(builder).timelines[0]
    assert line.total_ns == 100_000
    assert line.computation_ns == 50_000  # 10-50 and 100-110
    assert (line.communication_ns, line.exposed_communication_ns, line.hidden_communication_ns) == (
        25_000,
        20_000,
        5_000,
    )
    assert (line.copy_ns, line.exposed_copy_ns, line.hidden_copy_ns) == (30_000, 20_000, 10_000)
    assert (line.busy_ns, line.idle_ns) == (90_000, 10_000)
    assert line.computation_ns + line.exposed_communication_ns + line.exposed_copy_ns == line.busy_ns
    assert (line.kernels, line.streams) == (3, 4)
    assert (line.before_ns, line.after_ns) == (10_000, 90_000)


def test_what_a_device_did_over_time_adds_up_to_its_timeline(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 0, 200)
    builder.gpu("gemm", 10, 50)
    builder.gpu(NCCL, 45, 70, stream=9)
    builder.gpu("Memcpy HtoD (Pinned -> Device)", 60, 90, category="gpu_memcpy", stream=10, bytes=3000)
    builder.gpu("gemm", 130, 133.333)
    explanation = explain_built(builder)
    (line,), (activity,) = explanation.timelines, explanation.activity
    start, length, *busy = (list(column) for column in zip(*activity.parts, strict=True))
    assert len(start) == 240
    assert start[0] == line.before_ns
    assert [one + long for one, long in zip(start, length, strict=True)][:-1] == start[1:]
    assert sum(length) == line.total_ns
    assert [sum(times) for times in busy] == [
        line.computation_ns, line.exposed_communication_ns, line.exposed_copy_ns,
    ]  # fmt: skip
    # 50 to 70 nothing but communication ran: a sixth of the time, so 39 parts of it are whole.
    assert sum(part[3] == part[1] for part in activity.parts) in (38, 39)


def test_work_of_a_few_nanoseconds_has_as_many_parts(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.gpu("gemm", 1, 1.003)
    assert explain_built(builder).activity[0].parts == ((0, 1, 1, 0, 0), (1, 1, 1, 0, 0), (2, 1, 1, 0, 0))


def test_each_device_has_its_own_timeline(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.gpu("gemm", 0, 10, device=0)
    builder.gpu("gemm", 5, 45, device=1)
    builder.gpu("gemm", 20, 40, device=0)
    lines = explain_built(builder).timelines
    assert [(line.device, line.total_ns, line.busy_ns) for line in lines] == [(0, 40_000, 30_000), (1, 40_000, 40_000)]


def test_before_and_after_the_work_the_host_is_named(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.python("pipe.py(1): __call__", 0, 300)
    builder.python("tokens.py(2): encode", 10, 90)
    builder.kernel("gemm", 100, 120, launched=95)
    builder.python("image.py(3): save", 130, 290)
    line = explain_built(builder).timelines[0]
    assert (line.before_ns, line.before_what) == (100_000, "tokens.py(2): encode")
    assert (line.after_ns, line.after_what) == (180_000, "image.py(3): save")


def test_copies_have_bytes_rate_and_the_type_of_memory(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.gpu("gemm", 0, 15)
    for start in (10, 30):
        builder.gpu(
            "Memcpy HtoD (Pageable -> Device)", start, start + 10, category="gpu_memcpy", stream=8, bytes=50_000
        )
    builder.gpu("Memcpy DtoH (Device -> Pinned)", 50, 51, category="gpu_memcpy")
    to_device, to_host = explain_built(builder).copies
    assert (to_device.direction, to_device.memory, to_device.count) == ("H2D", "pageable", 2)
    assert (to_device.size_bytes, to_device.duration_ns, to_device.exposed_ns) == (100_000, 20_000, 15_000)
    assert to_device.bytes_per_second == 5e9
    assert (to_host.direction, to_host.memory, to_host.size_bytes, to_host.bytes_per_second) == (
        "D2H",
        "pinned",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("name", "sort"),
    [
        ("Memcpy HtoD (Pageable -> Device)", ("H2D", "pageable")),
        ("Memcpy DtoH (Device -> Pinned)", ("D2H", "pinned")),
        ("Memcpy HtoD (Host -> Device)", ("H2D", "")),
        ("Memcpy DtoD (Device -> Device)", ("D2D", "device")),
        ("Memcpy PtoP (Device -> Device)", ("P2P", "device")),
        ("CopyHostToDevice", ("H2D", "")),
        ("CopyDeviceToHost", ("D2H", "")),
        ("something else", ("other", "")),
    ],
)
def test_the_name_of_a_copy_has_its_direction_and_memory(name: str, sort: tuple[str, str]) -> None:
    assert copy_kind(name) == sort


def test_without_work_on_a_gpu_there_is_no_timeline(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.op("aten::linear", 0, 30)
    builder.op("aten::addmm", 5, 25)
    builder.op("aten::add", 40, 50)
    explanation = explain_built(builder)
    assert (explanation.timelines, explanation.kinds, explanation.causes, explanation.launches) == ((), (), (), None)
    assert explanation.source.platform == "cpu"
    found = [(row.name, row.kind, row.self_ns, row.total_ns) for row in explanation.host_ops]
    assert found == [
        ("aten::addmm", "gemm", 20_000, 20_000),
        ("aten::linear", "gemm", 10_000, 30_000),
        ("aten::add", "elementwise", 10_000, 10_000),
    ]
