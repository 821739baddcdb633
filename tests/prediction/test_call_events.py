"""What a call asks the allocator for on one device and on another, from events that were written down by hand."""

from __future__ import annotations

from diffprof.prediction.call_events import WORKSPACE, call_events
from diffprof.prediction.device_memory import DeviceMemory
from diffprof.prediction.event_player import Part
from diffprof.prediction.workspace import FUSED, MATH, PLAIN
from diffprof.record.allocations import ALLOCATE, OPERATION, RELEASE, AllocationEvent, Allocations
from diffprof.record.profile import Cost, Operation, Work
from diffprof.record.tensors import OperationShapes

AMPERE, TURING, AMD = DeviceMemory("ampere"), DeviceMemory("turing"), DeviceMemory("cdna3", "AMD")


def cost_of(operation: Operation) -> Cost:
    """One tensor comes, the operation runs, the tensor goes."""
    found = (AllocationEvent(ALLOCATE, 1000, 2), AllocationEvent(OPERATION, 0), AllocationEvent(RELEASE, 1))
    return Cost(Work(), 0, (operation,), allocations=Allocations(found, (0, 1, 2)))


def operation_of(kind: str, *inputs: tuple[int, ...]) -> Operation:
    return Operation("one", kind, OperationShapes(inputs, inputs[:1]), "float32", 1, Work(1))


CONVOLUTION = cost_of(operation_of("convolution", (1, 4, 8, 8), (4, 4, 3, 3)))
WIDE_ATTENTION = cost_of(operation_of("attention", (2, 1, 10, 512), (2, 1, 20, 512), (2, 1, 20, 512)))


def test_what_an_operation_takes_beside_its_tensors_stands_between_them() -> None:
    copies = 4 * (4 * 8 * 8 + 4 * 4 * 9)
    found = call_events(CONVOLUTION, AMPERE, FUSED, share=1)
    assert found.parts == [Part([(ALLOCATE, 1000, 1), (WORKSPACE, copies, 1), (RELEASE, 1, 0)], 1, [])]
    assert found.workspaces == (copies,)


def test_where_it_takes_nothing_there_is_no_event() -> None:
    found = call_events(CONVOLUTION, TURING, FUSED, share=1)
    assert found.parts == [Part([(ALLOCATE, 1000, 1), (RELEASE, 1, 0)], 1, [])]
    assert found.workspaces == (0,)


def test_attention_keeps_its_scores_where_no_kernel_does_without() -> None:
    scores, sums = 2 * 10 * 20, 2 * 10 * 4
    workspaces = [
        call_events(WIDE_ATTENTION, device, way, share=1).workspaces
        for device, way in ((AMPERE, FUSED), (AMD, FUSED), (AMPERE, MATH), (AMPERE, PLAIN), (AMD, PLAIN))
    ]
    assert workspaces == [(sums,), (9 * scores,), (9 * scores,), (8 * scores,), (8 * scores,)]


def test_several_devices_have_a_share_each() -> None:
    found = call_events(CONVOLUTION, AMPERE, FUSED, share=4)
    assert found.parts[0].events[0] == (ALLOCATE, 250, 1)
    assert found.workspaces == (4 * (4 * 8 * 8 + 4 * 4 * 9) // 4,)
