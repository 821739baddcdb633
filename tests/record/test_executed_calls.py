"""Single operations add up to rows, to the work of modules, and to a record of allocations."""

from __future__ import annotations

from diffprof.record.allocations import ALLOCATE, CALL, MASKED_ATTENTION, OPERATION, RELEASE
from diffprof.record.executed_calls import (
    ExecutedCall,
    ExecutedOp,
    ModuleTally,
    group_operations,
    number_events,
    relative_events,
    sort_rows,
)
from diffprof.record.profile import Work
from diffprof.record.tensors import OperationShapes

SHAPES = OperationShapes(((8, 4),), ((8, 4),))
LINEAR = ExecutedOp("addmm", "linear", SHAPES, "float16", 128, 0, 80, 64)
ANOTHER = ExecutedOp("addmm", "linear", SHAPES, "float16", 128, 0, 80, 64, strided_bytes=16)
FANCY = ExecutedOp("fancy", "unknown", SHAPES, "float16", 0, 7, 64, 64)
MODULES = (ModuleTally("", "Net", 1, [(FANCY, 2)]), ModuleTally("a", "Linear", 3, [(LINEAR, 3), (ANOTHER, 1)]))


def test_operations_of_one_row_add_up_wherever_they_were_executed() -> None:
    works, rows = group_operations(MODULES)
    assert [module.work for module in works] == [Work(0, 14, 128, 128), Work(512, 0, 320, 256)]
    assert rows == [(LINEAR.row, [4, 512, 0, 320, 256, 16]), (FANCY.row, [2, 0, 14, 128, 128, 0])]


def test_rows_that_never_ran_are_left_out() -> None:
    assert sort_rows({"a": [1, 5], "b": [0, 9], "c": [2, 7]}) == [("c", [2, 7]), ("a", [1, 5])]


def test_a_call_costs_what_its_modules_do() -> None:
    cost = ExecutedCall(MODULES, (), [(256, ""), (LINEAR, False), (512, "a"), 0]).cost(peak_live_bytes=768)
    assert (cost.work, cost.peak_live_bytes) == (Work(512, 14, 448, 384), 768)
    linear, fancy = cost.operations
    assert (linear.count, linear.known, linear.strided_bytes) == (4, True, 16)
    assert (fancy.count, fancy.known) == (2, False)
    events = [cost.allocations.events[number] for number in cost.allocations.expand()]
    assert [(event.kind, event.value, event.step) for event in events] == [
        (ALLOCATE, 256, 0), (OPERATION, 0, 0), (ALLOCATE, 512, 2), (RELEASE, 2, 0),
    ]  # fmt: skip


def test_events_are_relative_to_what_came_before() -> None:
    places = {"": 0, "a": 1, "b": 2}
    log = [(10, "b"), None, (20, "a"), (FANCY, True), 1, 0]
    assert list(relative_events(log, places)) == [
        (ALLOCATE, 10, 4), (CALL, 0, 0), (ALLOCATE, 20, 1), (MASKED_ATTENTION, FANCY.row, 0), (RELEASE, 1, 0),
        (RELEASE, 2, 0),
    ]  # fmt: skip


def test_an_operation_that_turned_out_to_be_another_is_left_out() -> None:
    events = [(ALLOCATE, 10, 0), (OPERATION, LINEAR.row, 0), (OPERATION, FANCY.row, 0)]
    allocations = number_events(events, {FANCY.row: 5})
    assert [(event.kind, event.value) for event in allocations.events] == [(ALLOCATE, 10), (OPERATION, 5)]
