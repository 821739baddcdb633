"""Keeps opening and counting a model within limits of memory and time, whatever its files ask for."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from diffprof.errors import OutOfMemoryError, WorkLimitError
from diffprof.settings.work_limits import WorkLimits

REPEATED_SECONDS = 1.0
"""Code of a library may swallow the first signal with a bare except."""


@contextlib.contextmanager
def within_limits(what: str, limits: WorkLimits) -> Iterator[None]:
    """Inside, the process gets no more memory and time than the limits allow; `what` is named in the error.

    The system enforces them where it can: the memory on Linux; the time, which is that of the processor, in the main
    thread of a program that has no such timer of its own. The libraries must have been imported before.
    """
    with _time_limit(what, limits.seconds), _memory_limit(what, limits.memory_bytes):
        yield


@contextlib.contextmanager
def _memory_limit(what: str, memory_bytes: int | None) -> Iterator[None]:
    used = _data_bytes() if memory_bytes is not None else None
    if memory_bytes is None or used is None:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = used + memory_bytes
    if soft != resource.RLIM_INFINITY and soft <= most:
        yield  # somebody has set a stricter one
        return
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    except Exception as error:
        if _is_memory_exhausted(error):
            raise WorkLimitError(
                f"{what} takes more than {memory_bytes / 1e9:.3g} GB of memory to open and count, which is the limit; "
                "check its configuration, or raise the limit with --limit-memory"
            ) from error
        raise


def _data_bytes() -> int | None:
    """The memory that the process holds for data, as the kernel counts it for the limit; None where it does not say."""
    if sys.platform != "linux":
        return None
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:")), None)


def _is_memory_exhausted(error: BaseException) -> bool:
    """Whether an error, or one that it was made of, says that there was no memory left."""
    from diffprof.pipelines.failures import is_out_of_memory

    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        if is_out_of_memory(following) or isinstance(following, OutOfMemoryError):
            return True
        following = following.__cause__ or following.__context__
    return False


class _TimeIsUp(BaseException):
    """Not an Exception: libraries, and this one, catch those and go on."""


@contextlib.contextmanager
def _time_limit(what: str, seconds: float | None) -> Iterator[None]:
    is_main = threading.current_thread() is threading.main_thread()
    if seconds is None or not is_main or not hasattr(signal, "setitimer"):
        yield
        return
    if signal.getsignal(signal.SIGPROF) is not signal.SIG_DFL or signal.getitimer(signal.ITIMER_PROF)[0]:
        yield  # the timer of the program that this runs in
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise _TimeIsUp

    before: Any = signal.signal(signal.SIGPROF, ring)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds, REPEATED_SECONDS)
        yield
    except _TimeIsUp:
        raise WorkLimitError(
            f"{what} takes more than {seconds:g} seconds of the processor to open and count, which is the limit; "
            "check its configuration, or raise the limit with --limit-time"
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
