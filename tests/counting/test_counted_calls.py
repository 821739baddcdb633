"""Calls that were counted are replayed where nothing that they depend on has changed."""

from __future__ import annotations

from typing import Any

import torch

from diffprof.counting.counted_calls import CountedCall, CountedCalls, digest_values, shares_storage
from diffprof.counting.dry_run import dry_run
from diffprof.record.executed_calls import ExecutedCall
from diffprof.record.profile import Cost, Work
from tests.small_pipelines import SMALL_PIPELINES


def counted(inputs: list[torch.Tensor], read: frozenset[int]) -> CountedCall:
    return CountedCall(
        Cost(Work(1), 0), ExecutedCall((), (), ()), None, read, digest_values(inputs, read), ()
    )  # fmt: skip


def test_a_call_is_recalled_if_the_values_that_were_read_are_the_same() -> None:
    ids, state = torch.tensor([1, 2]), torch.zeros(3)
    calls, call = CountedCalls(), counted([ids, state], frozenset({0}))
    calls.add("unet", call)
    assert calls.recall("unet", [torch.tensor([1, 2]), torch.ones(3)]) is call
    assert calls.recall("unet", [torch.tensor([1, 3]), state]) is None
    assert calls.recall("vae", [ids, state]) is None


def test_a_virtual_input_has_no_values_to_depend_on() -> None:
    virtual = torch.zeros(3, device="meta")
    assert digest_values([virtual], frozenset({0})) == digest_values([], frozenset())


def test_values_count_however_they_lie_in_memory() -> None:
    whole = torch.arange(6).reshape(2, 3)
    everything = frozenset({0})
    assert digest_values([whole.t()], everything) == digest_values([whole.t().contiguous()], everything)
    assert digest_values([whole.t()], everything) != digest_values([whole], everything)


def test_what_is_handed_back_shares_its_storage() -> None:
    given = torch.zeros(4)
    assert shares_storage([given], [given[:2]])
    assert not shares_storage([given], [given.clone(), 7])


def test_a_call_that_was_counted_in_one_run_is_not_counted_in_the_next() -> None:
    """Also where the pipeline gives its transformer a registry of hooks, a new one each time, and nothing in it."""
    small, counted, seen = SMALL_PIPELINES["wan-2.1"], CountedCalls(), list[Any]()
    pipeline = small.build()
    first = dry_run(pipeline, small.arguments(), progress=seen.append, counted=counted)
    assert seen
    seen.clear()
    assert dry_run(pipeline, small.arguments(), progress=seen.append, counted=counted).calls == first.calls
    assert seen == []


def test_calls_that_the_last_count_did_not_need_are_forgotten() -> None:
    calls = CountedCalls()
    for key in ("first", "second"):
        calls.add(key, counted([], frozenset()))
    calls.forget_unused()
    assert set(calls.known) == {"first", "second"}
    assert calls.recall("second", []) is not None
    calls.forget_unused()
    assert set(calls.known) == {"second"}


def test_a_pipeline_is_looked_at_once_for_all_of_its_runs() -> None:
    small, counted = SMALL_PIPELINES["wan-2.1"], CountedCalls()
    pipeline = small.build()
    dry_run(pipeline, small.arguments(), counted=counted)
    layout, state = counted.layout, counted.state
    counted.forget_unused()
    dry_run(pipeline, small.arguments(), counted=counted)
    assert (counted.layout, counted.state) == (layout, state)
