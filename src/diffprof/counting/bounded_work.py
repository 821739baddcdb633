"""Limit the memory and time for opening and counting a model, whatever its files contain."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from diffprof.counting.time_limits import time_limit
from diffprof.errors import OutOfMemoryError, WorkLimitError
from diffprof.settings.work_limits import WorkLimits


@contextlib.contextmanager
def within_limits(what: str, limits: WorkLimits) -> Iterator[None]:
    """Limit the memory and time of the block; errors name `what`.

    On Linux, the operating system enforces the memory limit. The libraries must have been imported before.
    """
    with time_limit(what, limits.seconds, limits.ends_process), _memory_limit(what, limits.memory_bytes):
        yield


@contextlib.contextmanager
def _memory_limit(what: str, memory_bytes: int | None) -> Iterator[None]:
    used = _data_bytes() if memory_bytes is not None else None
    if memory_bytes is None or used is None or _PROCESS_MEMORY_LIMIT.is_already_stricter(used + memory_bytes):
        yield
        return
    try:
        with _PROCESS_MEMORY_LIMIT.limit_to(used + memory_bytes):
            yield
    except Exception as error:
        if _is_memory_exhausted(error):
            raise WorkLimitError(
                f"{what} takes more than {memory_bytes / 1e9:.3g} GB of memory to open and count, which is the limit; "
                "check its configuration, or raise the limit with --limit-memory"
            ) from error
        raise


class _ProcessMemoryLimit:
    """The memory limit of the process, which all threads share; the last thread to finish lifts it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requested: list[int] = []
        self._before: tuple[int, int] = (0, 0)

    @contextlib.contextmanager
    def limit_to(self, data_bytes: int) -> Iterator[None]:
        import resource

        with self._lock:
            if not self._requested:
                self._before = resource.getrlimit(resource.RLIMIT_DATA)
            self._requested.append(data_bytes)
            self._apply()
        try:
            yield
        finally:
            with self._lock:
                self._requested.remove(data_bytes)
                self._apply()

    def is_already_stricter(self, data_bytes: int) -> bool:
        """Whether the process already has a stricter limit, which stays in force."""
        import resource

        with self._lock:
            soft = (self._before if self._requested else resource.getrlimit(resource.RLIMIT_DATA))[0]
        return soft != resource.RLIM_INFINITY and soft <= data_bytes

    def _apply(self) -> None:
        """Apply the highest limit of all threads."""
        import resource

        soft, hard = self._before
        resource.setrlimit(resource.RLIMIT_DATA, (max(self._requested, default=soft), hard))


_PROCESS_MEMORY_LIMIT = _ProcessMemoryLimit()


def _data_bytes() -> int | None:
    """Return the size of the process's data segment, which is limited; None if the system does not report it."""
    if sys.platform != "linux":
        return None
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:")), None)


def _is_memory_exhausted(error: BaseException) -> bool:
    """Whether an error, or one of its causes, says that memory is exhausted."""
    from diffprof.pipelines.failures import is_out_of_memory

    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        if is_out_of_memory(following) or isinstance(following, OutOfMemoryError):
            return True
        following = following.__cause__ or following.__context__
    return False
