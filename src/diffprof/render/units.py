"""How measured times and memory are written in the tables of a run."""

from __future__ import annotations

MEBIBYTE = 1024**2


def duration(seconds: float) -> str:
    """``45.234s``, ``0.055s``, ``4.210ms``, ``12.3us``: what is not nothing never reads as 0."""
    if seconds >= 0.01:
        return f"{seconds:,.3f}s"
    if seconds >= 0.0001:
        return f"{seconds * 1e3:.3f}ms"
    if seconds > 0:
        return f"{max(seconds * 1e6, 0.001):.3g}us"
    return "0s"


def mebibytes(number: int) -> str:
    """``1024.5M``: of 1,048,576 bytes each."""
    return f"{number / MEBIBYTE:.1f}M"


def shortened(name: str, width: int) -> str:
    """The end of a long name, where paths differ from each other: ``...ansformer/attention``."""
    return name if len(name) <= width else f"...{name[3 - width :]}"
