"""A cost for one request: its sums and its tables."""

from __future__ import annotations

from diffprof.laws.costs import CostValues, peak_of, row_values
from diffprof.laws.folding import LOOP
from diffprof.record.allocations import ALLOCATE, CALL, OPERATION, RELEASE
from diffprof.record.profile import ModuleWork, Work
from tests.laws.small_program import small_program

TOKENS = 25 * 21
REQUEST = {"height": 200, "width": 168, "num_inference_steps": 11}


def costs() -> list[CostValues]:
    return small_program().at(REQUEST).costs


def test_sums_are_worked_out_without_the_tables() -> None:
    denoiser, own = costs()
    assert denoiser.work == Work(64 * TOKENS, 0, 40 * TOKENS + 128, 40 * TOKENS)
    assert (denoiser.executed_ops, denoiser.known_ops, denoiser.unknown) == (5, 4, {"fancy": 1})
    assert denoiser.known_bytes == 128 + 64 * TOKENS
    assert (denoiser.calls, denoiser.attention_macs) == (11, 16 * TOKENS**2)
    assert own.work == Work() and own.peak_live_bytes == 0


def test_the_peak_is_the_larger_of_two_moments() -> None:
    (small, _), (large, _) = (small_program().at({**REQUEST, "height": side, "width": 64}).costs for side in (64, 160))
    assert small.peak_live_bytes == 16 * 64 + 1024  # 64 tokens: the last moment
    assert large.peak_live_bytes == 24 * 160  # 160 tokens: while both tensors are alive


def test_equal_operations_of_modules_are_one_row_and_attention_of_one_site_is_one() -> None:
    cost = costs()[0].as_cost()
    linear, other = cost.operations
    assert (linear.name, linear.count, linear.work.macs, linear.known) == ("addmm", 4, 64 * TOKENS, True)
    assert (other.name, other.count, other.known, other.strided_bytes) == ("fancy", 1, False, 8)
    (attention,) = cost.attention
    assert (attention.count, attention.macs, attention.query_tokens) == (2, 16 * TOKENS**2, TOKENS)


def test_modules_have_the_work_that_they_do_themselves() -> None:
    first = Work(32 * TOKENS, 0, 2 * (8 * TOKENS + 32), 16 * TOKENS)
    second = first + Work(0, 0, 8 * TOKENS, 8 * TOKENS)
    assert costs()[0].as_cost().modules == (
        ModuleWork("", "Net", 1, Work()), ModuleWork("blocks.0", "Block", 1, first),
        ModuleWork("blocks.1", "Block", 1, second),
    )  # fmt: skip


def test_paths_and_calls_of_modules_are_known_without_their_work() -> None:
    cost = small_program().at({**REQUEST, "height": 1000}).costs[0].as_cost()  # a request that nobody made before
    assert (cost.module_calls, cost.module_path(2)) == (3, "blocks.1")
    assert "modules" not in vars(cost)
    assert sum(module.calls for module in cost.modules) == cost.module_calls
    assert costs()[1].as_cost().module_path(0) == ""


def test_requests_that_a_cost_does_not_depend_on_share_it() -> None:
    program = small_program()
    first, more, larger = (
        program.at({**REQUEST, **changes}).costs[0].as_cost()
        for changes in ({}, {"num_inference_steps": 20}, {"height": 240})
    )
    assert more is first
    assert larger is not first
    assert program.at(REQUEST).costs[0].as_cost() is first
    for height in (320, 400, 480):
        program.at({**REQUEST, "height": height}).costs[0].as_cost()
    assert program.at(REQUEST).costs[0].as_cost() is not first


def test_events_name_operations_by_the_number_of_their_row() -> None:
    allocations = costs()[0].as_cost().allocations
    found = [allocations.events[number] for number in allocations.expand()]
    assert [(event.kind, event.value) for event in found] == [
        (ALLOCATE, 8 * TOKENS), (OPERATION, 0), (ALLOCATE, 16 * TOKENS), (RELEASE, 2), (ALLOCATE, 1024), (RELEASE, 2),
        (RELEASE, 1),
    ]  # fmt: skip
    own = costs()[1].as_cost().allocations
    assert [own.events[number].kind for number in own.expand()] == [ALLOCATE, *[CALL] * 11, RELEASE]


def test_a_list_of_equal_inputs_is_written_out() -> None:
    row = ("stack", "data movement", ((LOOP, 3, ((4, 4),)),), ((3, 4, 4),), "float16")
    assert row_values(row)[2] == ((4, 4),) * 3


def test_the_peak_of_events_is_what_is_alive_at_one_time() -> None:
    assert peak_of([(ALLOCATE, 5, 0), (RELEASE, 1, 0), (ALLOCATE, 3, 0), (ALLOCATE, 1, 0), (RELEASE, 2, 0)]) == 5
    assert peak_of([]) == 0
