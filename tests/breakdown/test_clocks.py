"""One clock reads everything of a table."""

from __future__ import annotations

import pytest

from diffprof.breakdown.clocks import DEVICE, HOST, clock_of
from diffprof.record.measured import Iteration, Sample, Span, StepSpan

BOTH = Span(10, 5, device_start_ns=12, device_ns=7)
HOST_ONLY = Span(10, 5)


def test_a_span_starts_and_ends_on_the_clock_that_reads_it() -> None:
    assert (HOST.start_ns(BOTH), HOST.length_ns(BOTH), HOST.end_ns(BOTH)) == (10, 5, 15)
    assert (DEVICE.start_ns(BOTH), DEVICE.length_ns(BOTH), DEVICE.end_ns(BOTH)) == (12, 7, 19)


@pytest.mark.parametrize(
    "iteration",
    [
        Iteration(0, HOST_ONLY),
        Iteration(0, BOTH, (Sample("a", HOST_ONLY),)),
        Iteration(0, BOTH, (), (StepSpan("scheduler", 0, HOST_ONLY),)),
    ],
)
def test_one_span_that_the_device_does_not_know_leaves_the_host(iteration: Iteration) -> None:
    known = Iteration(0, BOTH, (Sample("a", BOTH),), (StepSpan("scheduler", 0, BOTH),))
    assert clock_of([known]) is DEVICE
    assert clock_of([known, iteration]) is HOST


def test_where_there_is_nothing_the_host_reads_it() -> None:
    assert clock_of([]) is HOST
