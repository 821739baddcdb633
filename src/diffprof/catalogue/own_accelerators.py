"""The user's own accelerators: measured by `diffprof hardware calibrate`, or from a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from diffprof import settings
from diffprof.catalogue.accelerators import (
    FILE_FORMAT,
    GIB,
    GIGA,
    MIB,
    TERA,
    Accelerator,
    accelerators,
    read_accelerators,
)
from diffprof.record.atomic_files import replace_file


def own_file() -> Path:
    """The file of measured accelerators, next to the user's settings."""
    return settings.user_file().with_name("hardware.toml")


def known_accelerators(file: Path | None = None) -> tuple[Accelerator, ...]:
    """All accelerators: of the file, the user's own, and of the catalogue; the first of each name wins."""
    own = read_accelerators(file) if file else ()
    measured = read_accelerators(own_file()) if own_file().is_file() else ()
    return tuple({entry.name: entry for entry in reversed((*own, *measured, *accelerators()))}.values())[::-1]


def keep_accelerator(entry: Accelerator, file: Path | None = None) -> Path:
    """Write an accelerator to the user's file, replacing one of the same name."""
    target = file or own_file()
    others = [kept for kept in read_accelerators(target) if kept.name != entry.name] if target.is_file() else []
    target.parent.mkdir(parents=True, exist_ok=True)
    return replace_file(target, accelerators_toml([*others, entry]).encode())


def accelerators_toml(entries: list[Accelerator]) -> str:
    """The text of a file that `read_accelerators` can read."""
    blocks = [f"format = {FILE_FORMAT}"]
    blocks += ["\n".join(["[[accelerator]]", *_lines(entry)]) for entry in entries]
    return "\n\n".join(blocks) + "\n"


def _lines(entry: Accelerator) -> Iterator[str]:
    for name in ("name", "aliases", "reported_names", "maker", "architecture"):
        value = getattr(entry, name)
        yield f"{name} = {json.dumps(list(value) if isinstance(value, tuple) else value)}"
    if entry.multiprocessors:
        yield f"multiprocessors = {entry.multiprocessors}"
    yield f"memory_gib = {entry.memory_bytes / GIB:.6g}"
    yield f"bandwidth_gb_per_second = {entry.bandwidth_bytes_per_second / GIGA:.6g}"
    if entry.l2_cache_bytes:
        yield f"l2_cache_mib = {entry.l2_cache_bytes / MIB:.6g}"
    if entry.board_power_watts:
        yield f"board_power_watts = {entry.board_power_watts:.6g}"
    if entry.host_link and entry.host_link_bytes_per_second:
        yield f"host_link = {json.dumps(entry.host_link)}"
        if not entry.host_link.startswith("PCIe"):
            yield f"host_link_gb_per_second = {entry.host_link_bytes_per_second / GIGA:.6g}"
    peaks = ", ".join(f"{dtype} = {peak / TERA:.6g}" for dtype, peak in entry.peak_flops_per_second.items())
    yield f"peak_teraflops = {{ {peaks} }}"
    yield f"source = {json.dumps(entry.source)}"
    if entry.measured:
        yield "[accelerator.measured]"
        yield from (f"{name} = {value:.4g}" for name, value in entry.measured.items())
