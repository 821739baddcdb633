"""Work that takes too much of the processor's time ends, wherever it runs."""

from __future__ import annotations

import signal
import sys
import threading
from itertools import count

import pytest

from diffprof.counting.time_limits import time_limit
from diffprof.errors import WorkLimitError
from tests.children import run_child

on_unix = pytest.mark.skipif(sys.platform == "win32", reason="has no clock of a thread and no limit of the kernel")


def spin() -> None:
    for number in count():
        if number < 0:
            return


@on_unix
def test_work_in_another_thread_is_interrupted_there_and_nowhere_else() -> None:
    errors = []

    def work() -> None:
        try:
            with time_limit("my-model", 0.1):
                spin()
        except WorkLimitError as error:
            errors.append(str(error))
        errors.append("goes on")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert "my-model takes more than 0.1 seconds of the processor" in errors[0]
    assert errors[1:] == ["goes on"]
    assert not any(each.name == "diffprof-time-limit" and each.is_alive() for each in _after_a_look())


TRACED = """
import sys, threading
from diffprof.counting.time_limits import time_limit
from diffprof.errors import WorkLimitError
def work(seconds, turns):
    try:
        with time_limit("my-model", seconds):
            for _ in range(turns):
                pass
    except WorkLimitError:
        print("interrupted")
for options in ((5.0, 1), (0.01, 10**10)):
    thread = threading.Thread(target=work, args=options)
    thread.start()
    thread.join()
sys.setprofile(lambda *event: None)
(lambda: None)()
sys.setprofile(None)
print("goes on")
"""


@on_unix
def test_code_that_is_traced_afterwards_goes_on() -> None:
    """A debugger, coverage and torch's profiler with stacks hung, after Python was told to forget an interruption."""
    assert run_child("-c", TRACED, timeout=600).stdout.splitlines() == ["interrupted", "goes on"]


def _after_a_look() -> list[threading.Thread]:
    """The threads, once those that watched have noticed that they are not needed any more."""
    found = threading.enumerate()
    for thread in found:
        if thread.name == "diffprof-time-limit":
            thread.join(30)
    return found


COMPILED = """
import collections, hashlib, itertools
from diffprof.counting import time_limits
time_limits.GRACE_SECONDS = time_limits.POLL_SECONDS = 0.05
with time_limits.time_limit("my-model", 0.1, ends_process=True):
    {work}
print("not ended")
"""
LETS_OTHERS_RUN = "hashlib.pbkdf2_hmac('sha256', b'x', b'x', 2**31 - 1)"
LETS_NOBODY_RUN = "collections.deque(itertools.repeat(0), maxlen=0)"


@on_unix
def test_compiled_code_that_lets_others_run_is_ended_with_the_sentence() -> None:
    ended = run_child("-c", COMPILED.format(work=LETS_OTHERS_RUN), exit_code=1)
    assert ended.stderr.startswith("diffprof: error: my-model takes more than 0.1 seconds of the processor to open")
    assert ended.stdout == ""


@on_unix
def test_compiled_code_that_lets_nobody_run_is_ended_by_the_kernel() -> None:
    ended = run_child("-c", COMPILED.format(work=LETS_NOBODY_RUN), exit_code=-signal.SIGXCPU)
    assert ended.stdout == ""


@on_unix
def test_work_that_ends_in_time_leaves_no_limit_behind() -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_CPU)
    with time_limit("my-model", 100, ends_process=True):
        assert resource.getrlimit(resource.RLIMIT_CPU) != before
    assert resource.getrlimit(resource.RLIMIT_CPU) == before
    assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL
