"""Stop work that takes too much CPU time, in any thread and, as far as possible, in compiled code.

Work in Python is interrupted by an exception. Compiled code that does not return to Python cannot be interrupted. If
the process does nothing else, as with a command, a thread ends the process with the same message as soon as that code
releases the GIL; if it never does, the kernel ends it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

from diffprof.errors import WorkLimitError

REPEAT_SECONDS = 1.0
"""The exception is raised again after this time, in case a library has swallowed it with a bare except."""
GRACE_SECONDS = 5.0
"""Time beyond the limit for compiled code to return to Python before the process is ended."""
POLL_SECONDS = 0.5
"""Time between two checks of the clock."""


class _TimeLimitReached(BaseException):
    """Not an Exception, because libraries, and this one, catch those and continue."""


@contextlib.contextmanager
def time_limit(what: str, seconds: float | None, ends_process: bool = False) -> Iterator[None]:
    """Limit the CPU time of this thread inside the block; the error names `what`."""
    if seconds is None:
        yield
        return
    sentence = (
        f"{what} takes more than {seconds:g} seconds of the processor to open and count, which is the limit; "
        "check its configuration, or raise the limit with --limit-time"
    )
    is_main = threading.current_thread() is threading.main_thread()
    interrupted = _timer(seconds) if is_main else _thread_watchdog(seconds)
    ended = _process_watchdog(sentence, seconds + GRACE_SECONDS) if ends_process else contextlib.nullcontext()
    try:
        with ended, interrupted:
            yield
    except _TimeLimitReached:
        raise WorkLimitError(sentence) from None


@contextlib.contextmanager
def _timer(seconds: float) -> Iterator[None]:
    """Interrupt the main thread by a signal, unless the program already uses that timer."""
    is_taken = not hasattr(signal, "setitimer") or (
        signal.getsignal(signal.SIGPROF) is not signal.SIG_DFL or signal.getitimer(signal.ITIMER_PROF)[0]
    )
    if is_taken:
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise _TimeLimitReached

    before: Any = signal.signal(signal.SIGPROF, interrupt)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds, REPEAT_SECONDS)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def _thread_watchdog(seconds: float) -> Iterator[None]:
    """Interrupt this thread, which receives no signals, from another one."""
    if not hasattr(time, "pthread_getcpuclockid"):
        yield
        return
    thread = threading.get_ident()
    clock = time.pthread_getcpuclockid(thread)
    last = time.clock_gettime(clock) + seconds
    is_over, is_interrupted, turn = threading.Event(), threading.Event(), threading.Lock()

    def watch() -> None:
        while not is_over.wait(POLL_SECONDS):
            with turn:
                if not is_over.is_set() and time.clock_gettime(clock) > last:
                    is_interrupted.set()
                    _interrupt(thread)

    def stop() -> None:
        with turn:
            is_over.set()
        if is_interrupted.is_set():
            _consume_interruption(thread)

    threading.Thread(target=watch, name="diffprof-time-limit", daemon=True).start()
    try:
        yield
    finally:
        try:
            stop()
        except _TimeLimitReached:  # just requested; no more follow, because both threads use the same lock
            stop()


def _interrupt(thread: int) -> None:
    """Let Python raise `_TimeLimitReached` in a thread before one of its next instructions."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_TimeLimitReached))


def _consume_interruption(thread: int) -> None:
    """Consume an interruption of this thread that may still be pending.

    Python can cancel an interruption, but if there is none, a flag stays set forever: every function is slower from
    then on, and code under a debugger or a profiler hangs (CPython 3.11). So another one is requested, which replaces
    a pending one, and awaited.
    """
    try:
        _interrupt(thread)
        while True:
            pass
    except _TimeLimitReached:
        return


@contextlib.contextmanager
def _process_watchdog(sentence: str, seconds: float) -> Iterator[None]:
    """End the process if compiled code does not return: a thread does it, with a message, or else the kernel."""
    is_over = threading.Event()
    last = time.process_time() + seconds

    def watch() -> None:
        while not is_over.wait(POLL_SECONDS):
            if time.process_time() > last:
                os.write(2, f"diffprof: error: {sentence}.\n".encode("utf-8", "replace"))
                os._exit(WorkLimitError.exit_code)

    threading.Thread(target=watch, name="diffprof-time-limit", daemon=True).start()
    with _kernel_limit(last + GRACE_SECONDS):
        try:
            yield
        finally:
            is_over.set()


@contextlib.contextmanager
def _kernel_limit(seconds: float) -> Iterator[None]:
    """Set the CPU time at which the kernel ends the process with SIGXCPU."""
    if sys.platform == "win32":
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if soft != resource.RLIM_INFINITY and soft <= seconds:
        yield  # there already is a stricter limit
        return
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
