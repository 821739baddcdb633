"""Memory at named moments: what is known is there, what is not is not, and what stands out is named."""

from __future__ import annotations

import json

import pytest

from diffprof.errors import RequestError
from diffprof.runtime.timing.memory_log import MemoryFinding, MemoryLog
from diffprof.runtime.timing.memory_snapshots import ProcessMemory
from tests.runtime.timing.fakes import FakeAllocator, FakeClock

MIB = 1024**2

Moment = tuple[str, float, float, float]
GUIDE: list[Moment] = [
    ("worker_start", 1024.5, 2048.0, 1024.5),
    ("after_text_encoding", 4096.2, 6144.0, 4100.3),
    ("after_image_encoding", 5120.8, 8192.0, 5125.1),
    ("during_sampling", 12288.4, 16384.0, 14336.2),
    ("after_vae_decode", 2048.1, 4096.0, 14336.2),
]


def log_of(moments: list[Moment]) -> MemoryLog:
    """A log of a device whose memory stood as given: label, allocated, reserved and peak in MiB."""
    allocator = FakeAllocator()
    log = MemoryLog(allocator, lambda: ProcessMemory(500 * MIB, 600 * MIB), FakeClock())
    for label, allocated, reserved, peak in moments:
        allocator.now(allocated, reserved, peak)
        log.snapshot(label)
    return log


def process_log_of(moments: list[tuple[str, int]]) -> MemoryLog:
    """A log of a machine without a device: label and resident memory in MiB."""
    resident = [ProcessMemory(megabytes * MIB, 9000 * MIB) for _, megabytes in moments]
    log = MemoryLog(FakeAllocator(present=False), lambda: resident.pop(0), FakeClock())
    for label, _ in moments:
        log.snapshot(label)
    return log


def kinds(log: MemoryLog) -> list[tuple[str, str]]:
    return [(finding.kind, finding.label) for finding in log.findings()]


def test_a_snapshot_has_the_memory_of_device_and_process() -> None:
    clock = FakeClock()
    allocator = FakeAllocator()
    log = MemoryLog(allocator, lambda: ProcessMemory(10, 20), clock)
    log.snapshot("start")
    clock.pass_milliseconds(1500)
    allocator.now(100, 200, 150)
    taken = log.snapshot("loaded")
    assert taken.to_dict() == {
        **{"label": "loaded", "seconds": 1.5, "rss_bytes": 10, "peak_rss_bytes": 20},
        **{"allocated_bytes": 100 * MIB, "reserved_bytes": 200 * MIB, "max_allocated_bytes": 150 * MIB},
    }
    assert log.snapshots[-1] is taken


def test_the_peak_is_that_since_the_last_snapshot() -> None:
    log = log_of([("load", 10, 100, 90), ("idle", 10, 100, 0), ("run", 20, 100, 50)])
    assert [snapshot.max_allocated_bytes for snapshot in log.snapshots] == [90 * MIB, 10 * MIB, 50 * MIB]


def test_without_a_device_its_memory_is_absent_not_zero() -> None:
    taken = process_log_of([("start", 300)]).snapshots[0]
    assert (taken.allocated_bytes, taken.reserved_bytes, taken.max_allocated_bytes) == (None, None, None)
    assert set(taken.to_dict()) == {"label", "seconds", "rss_bytes", "peak_rss_bytes"}


def test_reserves_beyond_all_that_was_ever_allocated_are_fragmentation() -> None:
    log = log_of([("start", 1000, 1100, 1000), ("run", 2000, 4000, 2500)])
    assert log.findings() == [
        MemoryFinding(
            "fragmentation", "run", "device",
            {"reserved_bytes": 4000 * MIB, "most_allocated_bytes": 2500 * MIB, "excess_bytes": 1500 * MIB},
        )
    ]  # fmt: skip


def test_reserves_left_over_from_an_earlier_peak_are_not_called_fragmentation() -> None:
    assert kinds(log_of([("run", 4000, 4100, 4000), ("idle", 500, 4100, 4000)])) == [("held_in_reserve", "idle")]


@pytest.mark.parametrize("moments", [
    [("small", 1, 200, 1)],
    [("tight", 10_000, 10_900, 10_500)],
    [("nothing", 0, 0, 0)],
])  # fmt: skip
def test_reserves_that_are_small_or_near_are_not_mentioned(moments: list[Moment]) -> None:
    assert kinds(log_of(moments)) == []


def test_only_the_worst_reserve_of_each_kind_is_named() -> None:
    assert kinds(log_of(GUIDE)) == [("fragmentation", "after_image_encoding"), ("held_in_reserve", "after_vae_decode")]


def test_an_after_that_holds_more_than_its_before_was_not_given_back() -> None:
    log = log_of([("before decode", 100, 200, 100), ("peak", 900, 900, 900), ("after decode", 300, 400, 300)])
    assert log.findings() == [
        MemoryFinding(
            "unreleased_memory", "after decode", "device",
            {"before_bytes": 100 * MIB, "after_bytes": 300 * MIB, "growth_bytes": 200 * MIB}, before="before decode",
        )
    ]  # fmt: skip


def test_an_after_that_holds_as_much_as_its_before_is_fine() -> None:
    assert kinds(log_of([("before decode", 100, 200, 100), ("after decode", 120, 200, 900)])) == []


def test_any_two_snapshots_can_be_compared() -> None:
    log = log_of([("start", 100, 200, 100), ("end", 400, 500, 400)])
    found = log.unreleased_memory("start", "end")
    assert found is not None and found.evidence["growth_bytes"] == 300 * MIB
    assert log.unreleased_memory("end", "start") is None
    with pytest.raises(RequestError, match="no memory snapshot 'middle'"):
        log.unreleased_memory("start", "middle")


def test_memory_that_is_higher_each_time_grows() -> None:
    def steps(*allocated: int) -> list[Moment]:
        return [("step", number, 2 * number, number) for number in allocated]

    assert kinds(log_of(steps(100, 150, 200))) == [("grows", "step")]
    assert kinds(log_of(steps(100, 150, 140, 200))) == []
    assert kinds(log_of(steps(100, 200))) == []
    assert kinds(log_of(steps(100, 101, 102))) == []


def test_without_a_device_the_process_memory_is_used() -> None:
    log = process_log_of([("before_load", 1000), ("after_load", 1300)])
    assert [(finding.kind, finding.memory) for finding in log.findings()] == [("unreleased_memory", "process")]
    assert kinds(process_log_of([("before_load", 1000), ("after_load", 1100)])) == []


def test_everything_is_valid_json() -> None:
    data = json.loads(json.dumps(log_of(GUIDE).to_dict()))
    assert [snapshot["label"] for snapshot in data["snapshots"]] == [moment[0] for moment in GUIDE]
    assert {finding["kind"] for finding in data["findings"]} == {"fragmentation", "held_in_reserve"}


def test_nothing_is_left_after_a_reset() -> None:
    log = log_of(GUIDE)
    log.reset()
    assert log.to_dict() == {"unit": "bytes", "snapshots": [], "findings": []}
    assert log.snapshot("anew").seconds == 0
