"""Memory of this machine and of this process."""

from __future__ import annotations

import os
import re
import resource
import sys
from pathlib import Path


def available_bytes() -> int | None:
    """Memory that a new process could use now; None where the system does not say."""
    known = [amount for amount in (_of_system(), _of_container()) if amount is not None]
    return min(known, default=None)


def peak_bytes() -> int:
    """The most memory that this process has held so far."""
    # The rusage of a new process begins with what its parent held; the kernel's own high-water mark does not.
    status = _read(Path("/proc/self/status"))
    mark = re.search(r"VmHWM:\s+(\d+) kB", status)
    if mark:
        return int(mark[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _of_system() -> int | None:
    line = re.search(r"MemAvailable:\s+(\d+) kB", _read(Path("/proc/meminfo")))
    if line:
        return int(line[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None


def _of_container() -> int | None:
    limit, used = (_read(Path("/sys/fs/cgroup") / name).strip() for name in ("memory.max", "memory.current"))
    return int(limit) - int(used) if limit.isdigit() and used.isdigit() else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
