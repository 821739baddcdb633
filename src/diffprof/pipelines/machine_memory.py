"""Memory of this machine and of this process."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped]


def available_bytes() -> int | None:
    """Return the memory that a new process could use now; None if the system does not report it."""
    known = [amount for amount in (_available_to_system(), _available_to_container()) if amount is not None]
    return min(known, default=None)


def peak_bytes() -> int:
    """Return the peak memory of this process."""
    status = _read(Path("/proc/self/status"))
    high_water_mark = re.search(r"VmHWM:\s+(\d+) kB", status)
    if high_water_mark:
        # Not getrusage, whose maximum in a new process starts with that of the parent.
        return int(high_water_mark[1]) * 1024
    held = psutil.Process().memory_info()
    peak = getattr(held, "peak_wset", None)  # Windows
    return int(peak) if peak is not None else max(_peak_by_getrusage(), int(held.rss))


def _peak_by_getrusage() -> int:
    """Return the peak bytes on systems with getrusage (macOS, other Unix); else 0."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _available_to_system() -> int | None:
    try:
        return int(psutil.virtual_memory().available)
    except (OSError, RuntimeError):
        return None


def _available_to_container() -> int | None:
    limit, used = (_read(Path("/sys/fs/cgroup") / name).strip() for name in ("memory.max", "memory.current"))
    return int(limit) - int(used) if limit.isdigit() and used.isdigit() else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
