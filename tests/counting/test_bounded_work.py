"""Opening and counting a model takes no more memory and time than it may."""

from __future__ import annotations

import resource
import signal
import sys
from itertools import count

import pytest

from diffprof.counting.bounded_work import within_limits
from diffprof.errors import RequestError, WorkLimitError
from diffprof.settings.work_limits import WorkLimits

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only the kernel of Linux enforces it")

LARGE = 2_000_000_000


@on_linux
@pytest.mark.parametrize("wrapped", [False, True])
def test_more_memory_than_the_limit_is_refused_with_what_to_do(wrapped: bool) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(WorkLimitError, match=r"my-model takes more than 0\.1 GB .* --limit-memory"):  # noqa: SIM117
        with within_limits("my-model", WorkLimits(memory_bytes=100_000_000)):
            try:
                bytearray(LARGE)
            except MemoryError as error:
                if wrapped:
                    raise RequestError("the model cannot be built") from error
                raise
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@on_linux
def test_what_fits_is_not_disturbed_and_other_errors_stay_what_they_are() -> None:
    with within_limits("my-model", WorkLimits(memory_bytes=500_000_000)):
        assert len(bytearray(1_000_000)) == 1_000_000
    with pytest.raises(RequestError, match="as it is"), within_limits("my-model", WorkLimits(500_000_000, 100)):
        raise RequestError("as it is")


@on_linux
def test_the_limit_is_lifted_when_the_last_thread_is_done_whoever_began_first() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    first, second = (within_limits("my-model", WorkLimits(memory_bytes=size)) for size in (900_000_000, 500_000_000))
    first.__enter__()
    generous = resource.getrlimit(resource.RLIMIT_DATA)
    second.__enter__()
    assert resource.getrlimit(resource.RLIMIT_DATA) == generous
    first.__exit__(None, None, None)
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] < generous[0]
    second.__exit__(None, None, None)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@on_linux
def test_a_stricter_limit_that_somebody_has_set_stays() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    strict = 200_000_000_000
    resource.setrlimit(resource.RLIMIT_DATA, (strict, hard))
    try:
        with within_limits("my-model", WorkLimits(memory_bytes=strict)):
            assert resource.getrlimit(resource.RLIMIT_DATA) == (strict, hard)
        assert resource.getrlimit(resource.RLIMIT_DATA) == (strict, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def test_work_without_an_end_is_ended_even_where_it_catches_every_error() -> None:
    def swallow_everything() -> None:
        for number in count():
            try:
                if number < 0:
                    return
            except Exception:  # noqa: BLE001, S112, PERF203  as some libraries do
                continue

    with pytest.raises(WorkLimitError, match=r"more than 0\.1 seconds of the processor .* --limit-time"):  # noqa: SIM117
        with within_limits("my-model", WorkLimits(seconds=0.1)):
            swallow_everything()
    assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_a_program_with_a_timer_of_its_own_keeps_it() -> None:
    before = signal.signal(signal.SIGPROF, signal.SIG_IGN)
    try:
        with within_limits("my-model", WorkLimits(seconds=0.1)):
            assert signal.getsignal(signal.SIGPROF) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGPROF, before)


def test_without_limits_nothing_is_set() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with within_limits("my-model", WorkLimits()):
        assert resource.getrlimit(resource.RLIMIT_DATA) == before
