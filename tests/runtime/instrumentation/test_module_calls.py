"""Calls that ran other modules than the dry run are counted as those that ran the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.counting.dry_run import DryRunResult
from diffprof.errors import UncountableError
from diffprof.record.profile import Call, Cost, ModuleWork, Stage, Work
from diffprof.runtime.instrumentation.module_calls import ObservedCall, executed_calls

WHOLE = Cost(
    Work(100), 0, modules=(ModuleWork("first", "Linear", 1, Work(10)), ModuleWork("rest", "Linear", 9, Work(90)))
)
SHORT = Cost(Work(10), 0, modules=(ModuleWork("first", "Linear", 1, Work(10)),))


def dry_run(*costs: Cost) -> DryRunResult:
    calls = tuple(Call("unet", "forward", (), step, cost) for step, cost in enumerate(costs))
    decode = Call("vae", "decode", (), None, Cost(Work(5), 0))
    stage = Stage("scheduler", ("unet",), tuple(cost.work.macs for cost in costs))
    return DryRunResult((*calls, decode), (stage,), Cost(Work(), 0), (), {})


def ran(**modules: int) -> ObservedCall:
    return ObservedCall("unet", {"first": 1, "rest": 0, **modules})


def refuse() -> DryRunResult:
    raise AssertionError("nothing else has to be counted")


def test_what_ran_as_it_was_counted_stays_as_it_is() -> None:
    counted = dry_run(WHOLE, SHORT)
    assert executed_calls(counted, [ran(rest=9), ran()], refuse) == counted


def test_a_call_that_skipped_modules_costs_what_a_short_one_costs() -> None:
    found = executed_calls(dry_run(WHOLE, SHORT), [ran(), ran(rest=9)], refuse)
    assert [call.macs for call in found.calls] == [10, 100, 5]
    assert found.stages[0].step_macs == (10, 100)


def test_a_kind_of_call_that_was_not_counted_is_counted_otherwise() -> None:
    found = executed_calls(dry_run(SHORT, SHORT), [ran(rest=9), ran()], lambda: dry_run(WHOLE, WHOLE))
    assert [call.macs for call in found.calls] == [100, 10, 5]
    assert found.stages[0].step_macs == (100, 10)


def test_what_neither_has_cannot_be_counted() -> None:
    with pytest.raises(UncountableError, match="called its modules 6 times where 1 calls were counted"):
        executed_calls(dry_run(SHORT), [ran(rest=5)], lambda: dry_run(WHOLE))


def test_another_number_of_calls_cannot_be_counted() -> None:
    with pytest.raises(UncountableError, match="unet was called 1 times, and 2 times when counted"):
        executed_calls(dry_run(WHOLE, WHOLE), [ran(rest=9)], lambda: dry_run(WHOLE, WHOLE))


def test_compiled_code_cannot_be_seen() -> None:
    with pytest.raises(UncountableError, match="the calls it skips cannot be seen"):
        executed_calls(dry_run(WHOLE), [replace(ran(rest=9), is_observed=False)], lambda: dry_run(WHOLE))
