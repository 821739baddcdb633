"""What accelerators can do at most, from ``hardware.toml``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = Path(__file__).parent / "hardware.toml"
TERA, GIGA, GIB = 10**12, 10**9, 1024**3


@dataclass(frozen=True)
class Accelerator:
    """One accelerator as its vendor describes it; the file says what each figure means."""

    names: tuple[str, ...]
    peak_flops_per_second: Mapping[str, float]
    """By dtype, and ``tf32``: dense, 16 bit and 8 bit accumulated in float32."""
    memory_bytes: int
    bandwidth_bytes_per_second: float
    source: str
    multiprocessors: int | None = None
    """How many a device must have to be this one; None where the name says enough."""


def find_accelerator(
    name: str, multiprocessors: int | None = None, memory_bytes: int | None = None
) -> Accelerator | None:
    """The accelerator that torch calls by this name; None for one that is not in the file, or only a part of it.

    A name can stand for several: those with other multiprocessors are not meant, and the nearest in memory is.
    """
    meant = [
        accelerator
        for accelerator in accelerators()
        if _plain(name) in map(_plain, accelerator.names)
        and (accelerator.multiprocessors is None or accelerator.multiprocessors == multiprocessors)
    ]
    return min(meant, key=lambda accelerator: abs(accelerator.memory_bytes - (memory_bytes or 0)), default=None)


@cache
def accelerators() -> tuple[Accelerator, ...]:
    """All that are known, in the order of the file."""
    return tuple(
        Accelerator(
            names=tuple(entry["names"]),
            peak_flops_per_second={dtype: peak * TERA for dtype, peak in entry["peak_teraflops"].items()},
            memory_bytes=entry["memory_gib"] * GIB,
            bandwidth_bytes_per_second=entry["bandwidth_gb_per_second"] * GIGA,
            source=entry["source"],
            multiprocessors=entry.get("multiprocessors"),
        )
        for entry in tomllib.loads(FILE.read_text(encoding="utf-8"))["accelerator"]
    )


def _plain(name: str) -> str:
    """Drivers before 2021 leave out the maker."""
    return name.casefold().removeprefix("nvidia ").strip()
