"""The log of a dry run: what memory comes and goes, in order, for which module."""

from __future__ import annotations

import torch

from diffprof.counting.operations.allocation_log import AllocationLog, LiveBytes
from diffprof.prediction.timeline import owners
from diffprof.record.allocations import ALLOCATE, RELEASE, AllocationEvent
from diffprof.record.executed_calls import number_events, relative_events


def test_allocations_and_releases_are_logged_in_order() -> None:
    live = LiveBytes()
    first, second = torch.empty(100, dtype=torch.int32), torch.empty(50, dtype=torch.int32)
    live.add(first)
    live.owner = "block"
    live.add(second)
    del first
    recorded = number_events(relative_events(live.log.raw, {"": 0, "block": 1}), {})
    assert [recorded.events[number] for number in recorded.expand()] == [
        AllocationEvent(ALLOCATE, 400, 0),
        AllocationEvent(ALLOCATE, 200, 2),
        AllocationEvent(RELEASE, 2),
    ]
    assert owners(recorded) == [0, 1]


def test_an_empty_tensor_takes_no_memory() -> None:
    live = LiveBytes()
    live.add(torch.empty(0))
    assert live.log.raw == []


def test_an_output_lives_on_in_the_copy_that_the_pipeline_was_given() -> None:
    live = LiveBytes()
    around, live.log = live.log, AllocationLog()
    inside = live.log
    output, kept = torch.empty(10, device="meta"), torch.empty(5, device="meta")
    live.add(output)
    live.add(kept)
    live.log = around
    copy, view = torch.empty(10), torch.empty(10)
    live.hand_over(inside, [(output, copy), (output[:3], view)])
    assert around.raw == [(20, ""), (40, "")]
    del output, copy
    assert len(around.raw) == 2  # another copy of the same storage is alive
    del view
    del kept
    assert around.raw[2:] == [1, 0]
    assert inside.raw == [(40, ""), (20, "")]
