"""What a cost has in common for all requests."""

from __future__ import annotations

import pytest

from diffprof.laws.cost_structure import CostStructure, EventSequence
from diffprof.laws.folding import NegativeCount
from diffprof.record.allocations import RELEASE
from tests.laws.small_program import small_program

REQUEST = {"height": 200, "width": 168, "num_inference_steps": 11}


def structures() -> list[CostStructure]:
    """New ones, so that nothing is known yet."""
    program = small_program()
    return [CostStructure(program.template, program.template.nodes[program.parts["costs"]][1][n]) for n in range(2)]


def test_the_order_leaves_out_what_is_not_recorded() -> None:
    sequence = EventSequence(["a", "b", "c"], [0, 1, 2, 1])
    assert sequence.order((0, None, 1), 2) == (0, 1)
    assert sequence.order((0, 1, 0), 2) == (0, 1, 0, 1)  # two events that turned out equal


def test_modules_of_constant_names_are_worked_out_once() -> None:
    denoiser, _ = structures()
    names = denoiser.module_names(small_program().at(REQUEST).fill)
    assert names == [("", "Net", 1), ("blocks.0", "Block", 1), ("blocks.1", "Block", 1)]
    assert denoiser.module_names(lambda node: pytest.fail("asked again")) is names


def test_operations_are_counted_over_all_modules() -> None:
    denoiser, own = structures()
    assert sorted(denoiser.operations.values()) == [1, 2]  # the linear layers in two blocks, the other one in one
    assert own.operations == {}


def test_requests_that_release_alike_share_their_sequence() -> None:
    denoiser, own = structures()
    small, large = (small_program().at({**REQUEST, "height": height}) for height in (64, 320))
    assert denoiser.sequence(small.fill) is denoiser.sequence(large.fill)
    more = small_program().at({**REQUEST, "num_inference_steps": 12})
    assert own.sequence(small.fill) is not own.sequence(more.fill)


def test_a_sequence_has_its_loops_written_out_and_ages_for_releases() -> None:
    denoiser, own = structures()
    fill = small_program().at(REQUEST).fill
    assert len(own.sequence(fill).numbers) == 1 + 11 + 1
    found = denoiser.sequence(fill)
    releases = [found.symbols[n][1] for n in found.numbers if isinstance(found.symbols[n], tuple)]
    assert releases == [2, 2, 1]
    assert all(symbol[0] == RELEASE for symbol in found.symbols if isinstance(symbol, tuple))


def test_a_loop_that_would_run_less_than_no_times_is_refused() -> None:
    _, own = structures()
    with pytest.raises(NegativeCount):
        own.sequence(small_program().at({**REQUEST, "num_inference_steps": -1}).fill)


def test_a_cost_says_which_numbers_of_the_request_it_depends_on() -> None:
    program = small_program()
    found = [structure.variables(program.table) for structure in structures()]
    assert found == [("floor(height/8)", "floor(width/8)"), ("num_inference_steps",)]
