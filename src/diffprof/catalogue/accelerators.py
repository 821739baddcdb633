"""Accelerators by name, with their published numbers from ``hardware.toml`` or a file of the same format."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from diffprof.catalogue.efficiency_numbers import FORMER_NAMES
from diffprof.catalogue.efficiency_numbers import NAMES as EFFICIENCY_NAMES
from diffprof.catalogue.strict_table import StrictTable
from diffprof.errors import FileFormatError, RequestError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = Path(__file__).parent / "hardware.toml"
FILE_FORMAT = 2
"""Version 1 had no short names, and ``multiprocessors`` only for names that several chips share."""

LARGEST_FILE_BYTES = 1024 * 1024
TERA, GIGA, GIB, MIB = 10**12, 10**9, 1024**3, 1024**2

DTYPES = ("float32", "tf32", "bfloat16", "float16", "float8", "int8", "float4")


@dataclass(frozen=True)
class Accelerator:
    """One accelerator as its maker describes it; docs/hardware.md says what each number means.

    A number that is not published, or could not be confirmed, is None.
    """

    name: str
    """The short name: ``h100-sxm``"""
    reported_names: tuple[str, ...]
    """The names that torch reports."""
    maker: str
    architecture: str
    memory_bytes: int
    bandwidth_bytes_per_second: float
    peak_flops_per_second: Mapping[str, float]
    """Dense peaks by dtype, and for ``tf32``; 16-bit and 8-bit products accumulate in float32."""
    source: str
    """Where the numbers were published, unless `sources` names another place."""
    aliases: tuple[str, ...] = ()
    multiprocessors: int | None = None
    """Streaming multiprocessors (NVIDIA), compute units (AMD) or Xe cores (Intel)."""
    l2_cache_bytes: int | None = None
    board_power_watts: float | None = None
    host_link: str | None = None
    host_link_bytes_per_second: float | None = None
    """Bandwidth to the host in one direction."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Sources of single numbers, by field or by the dtype of a peak."""
    measured: Mapping[str, float] = field(default_factory=dict)
    """Numbers of the time model (see ``efficiency.toml``) that were measured on it; empty if it was not calibrated."""

    def source_of(self, number: str) -> str:
        """Where a field, or the peak in a dtype, was published."""
        if number in DTYPES:
            return self.sources.get(number) or self.sources.get("peak_flops_per_second") or self.source
        return self.sources.get(number) or self.source


def find_accelerator(name: str, among: Sequence[Accelerator] | None = None) -> Accelerator:
    """Find an accelerator by its short name or by torch's name, ignoring case and spacing.

    Searches all known accelerators, or only those of `among`.
    """
    if not isinstance(name, str):
        raise RequestError(f"An accelerator is named by text, such as 'rtx-4090', not {name!r}.")
    known = accelerators() if among is None else among
    key = _spelling_key(name)
    by_short_name = [entry for entry in known if key in map(_spelling_key, (entry.name, *entry.aliases))]
    found = by_short_name or [entry for entry in known if key in map(_spelling_key, entry.reported_names)]
    if not key or not found:
        raise RequestError(_unknown(name, known))
    if len(found) > 1:
        raise RequestError(f"{name} can mean {' or '.join(entry.name for entry in found)}; choose one of them.")
    return found[0]


def match_accelerator(
    reported_name: str, multiprocessors: int | None = None, memory_bytes: int | None = None
) -> Accelerator | None:
    """Find the accelerator that torch reports under this name; None if it is unknown, or only a part of a card.

    If several accelerators share the name, the number of multiprocessors and the memory decide.
    """
    named = [
        entry for entry in accelerators() if _without_maker(reported_name) in map(_without_maker, entry.reported_names)
    ]
    candidates = [entry for entry in named if _is_whole(entry, multiprocessors)]
    if memory_bytes and len(named) > 1:
        candidates = [entry for entry in candidates if _has_memory(entry, memory_bytes)]
    # If two cannot be told apart, the numbers of either may be wrong.
    return candidates[0] if len(candidates) == 1 else None


@cache
def accelerators() -> tuple[Accelerator, ...]:
    """All accelerators of the catalogue, in the order of the file."""
    return read_accelerators(FILE)


def accelerators_with(path: str | Path) -> tuple[Accelerator, ...]:
    """The accelerators of a file, then those of the catalogue whose names the file does not define."""
    own = read_accelerators(path)
    replaced = {entry.name for entry in own}
    return (*own, *(entry for entry in accelerators() if entry.name not in replaced))


def read_accelerators(path: str | Path) -> tuple[Accelerator, ...]:
    """Read the accelerators of a TOML file in the format of ``hardware.toml``; anything invalid is an error."""
    name = Path(path).name
    document = StrictTable(_parse(Path(path)), name)
    if document.take("format", int, None) != FILE_FORMAT:
        document.refuse("format", f"must be {FILE_FORMAT}; write `format = {FILE_FORMAT}` at its top")
    if isinstance(document.values.get("accelerator"), dict):
        document.refuse("accelerator", "must be in two brackets on each side, [[accelerator]]: a file can have several")
    tables = document.take("accelerator", list)
    document.finish()
    entries = tuple(_read_entry(table, f"{name}, accelerator {place}") for place, table in enumerate(tables, 1))
    places: dict[str, str] = {}
    for entry in entries:
        for label in (entry.name, *entry.aliases):
            if (other := places.setdefault(_spelling_key(label), entry.name)) != entry.name:
                raise FileFormatError(f"In {name}, {label} names both {other} and {entry.name}.")
        if [other.name for other in entries].count(entry.name) > 1:
            raise FileFormatError(f"In {name}, two accelerators have the name {entry.name}.")
    return entries


# Keys of the file that can have their own source, and the fields that they are read into.
_FIELDS = {
    "multiprocessors": "multiprocessors",
    "memory_gib": "memory_bytes",
    "bandwidth_gb_per_second": "bandwidth_bytes_per_second",
    "l2_cache_mib": "l2_cache_bytes",
    "board_power_watts": "board_power_watts",
    "host_link": "host_link",
    "peak_teraflops": "peak_flops_per_second",
    **{dtype: dtype for dtype in DTYPES},
}

MAKERS = ("NVIDIA", "AMD", "Intel")
"""Those of the catalogue; a file may name any other."""

ALL = "all"
"""The name for all accelerators, in options that take several."""
SHORT_NAME = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
_PCIE = re.compile(r"PCIe ([1-6])\.0 x(1|2|4|8|16)")

# Bandwidth of one lane in one direction, without encoding (8b/10b, 128b/130b) and the checksums of PCIe 6.0.
_PCIE_LANE_GB_PER_SECOND = {
    "1": 2.5 / 8 * 8 / 10,
    "2": 5 / 8 * 8 / 10,
    "3": 8 / 8 * 128 / 130,
    "4": 16 / 8 * 128 / 130,
    "5": 32 / 8 * 128 / 130,
    "6": 64 / 8 * 242 / 256,
}


def _read_entry(values: Any, where: str) -> Accelerator:
    table = StrictTable(values, where)
    name = table.text("name")
    table.where = f"{where} ({name})"
    if not SHORT_NAME.fullmatch(name):
        table.refuse("name", "must be lower-case letters, digits, dots and hyphens, as in rtx-4090")
    if name == ALL:
        table.refuse("name", "must be another: --gpu all means every accelerator")
    link, link_speed = _read_host_link(table)
    l2_cache = table.number("l2_cache_mib", required=False, smallest=SMALLEST)
    entry = Accelerator(
        name=name,
        aliases=table.texts("aliases"),
        reported_names=table.texts("reported_names"),
        maker=_read_maker(table),
        architecture=table.text("architecture").lower(),
        multiprocessors=_read_multiprocessors(table),
        memory_bytes=round(table.number("memory_gib", smallest=SMALLEST) * GIB),
        bandwidth_bytes_per_second=table.number("bandwidth_gb_per_second", smallest=SMALLEST) * GIGA,
        l2_cache_bytes=round(l2_cache * MIB) if l2_cache else None,
        board_power_watts=table.number("board_power_watts", required=False, smallest=SMALLEST) or None,
        host_link=link,
        host_link_bytes_per_second=link_speed,
        peak_flops_per_second=_read_peaks(table),
        source=table.text("source"),
        sources=_read_sources(table),
        measured=_read_measured(table),
    )
    table.finish()
    return entry


WIDEST_SPREAD = 10
"""The largest deviation of a logarithm: a factor of 22,000."""
MOST_MULTIPROCESSORS = 100_000
SMALLEST = 0.001
"""The smallest published number, such as GiB, TFLOP/s or watts."""


def _read_multiprocessors(table: StrictTable) -> int | None:
    number: int | None = table.take("multiprocessors", int, None)
    if number is not None and number > MOST_MULTIPROCESSORS:
        table.refuse("multiprocessors", f"must be at most {MOST_MULTIPROCESSORS:,}")
    return number


def _read_maker(table: StrictTable) -> str:
    """The maker; rules that hold for one of the known makers hold in any spelling of its name."""
    maker = table.text("maker")
    return next((known for known in MAKERS if known.casefold() == maker.casefold()), maker)


def _read_measured(table: StrictTable) -> dict[str, float]:
    numbers = StrictTable(table.take("measured", dict, {}), f"{table.where}, measured")
    for name in FORMER_NAMES:
        numbers.number(name, required=False)
    read = {name: numbers.number(name) for name in EFFICIENCY_NAMES if name in numbers.values}
    numbers.finish("is not a number of the time model")
    for name in ("spread", "host_spread"):
        if read.get(name, 0) > WIDEST_SPREAD:
            numbers.refuse(name, f"must be at most {WIDEST_SPREAD}, not {read[name]:g}")
    return read


def _read_peaks(table: StrictTable) -> dict[str, float]:
    peaks = StrictTable(table.take("peak_teraflops", dict), f"{table.where}, peak_teraflops")
    read = {dtype: peaks.number(dtype, smallest=SMALLEST) * TERA for dtype in DTYPES if dtype in peaks.values}
    peaks.finish(f"is not one of {', '.join(DTYPES)}")
    if not read:
        table.refuse("peak_teraflops", "must have the peak of at least one dtype")
    return read


def _read_host_link(table: StrictTable) -> tuple[str | None, float | None]:
    link: str | None = table.take("host_link", str, None)
    speed = table.number("host_link_gb_per_second", required=False, smallest=SMALLEST)
    pcie = _PCIE.fullmatch(link or "")
    if speed:
        if link is None or pcie:
            table.refuse("host_link_gb_per_second", "is only for a host_link that is not PCIe")
        return link, speed * GIGA
    if link is not None and not pcie:
        table.refuse("host_link", "must be as in PCIe 4.0 x16, or come with host_link_gb_per_second")
    return link, float(pcie[2]) * _PCIE_LANE_GB_PER_SECOND[pcie[1]] * GIGA if pcie else None


def _read_sources(table: StrictTable) -> dict[str, str]:
    sources = StrictTable(table.take("sources", dict, {}), f"{table.where}, sources")
    read = {field_name: sources.text(key) for key, field_name in _FIELDS.items() if key in sources.values}
    sources.finish("is not a number of an accelerator")
    return read


def _parse(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE_BYTES + 1)
        if len(data) > LARGEST_FILE_BYTES:
            raise FileFormatError(f"{path} is too large to be an accelerator file; check that it is the right file.")
        return tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise RequestError(f"Cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path} is not a text file in UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} is not valid TOML ({error}).") from error


# Words that are often left out.
_NOISE = re.compile(r"nvidia|geforce|tesla|amd|instinct|radeon|intel|graphics|\(r\)|\(tm\)|[^a-z0-9]")


@lru_cache(maxsize=1024)
def _spelling_key(name: str) -> str:
    """Normalize a name: ignore case, spaces, hyphens and makers."""
    return _NOISE.sub("", name.casefold())


def _without_maker(name: str) -> str:
    """Remove the maker, which drivers before 2021 leave out."""
    return name.casefold().removeprefix("nvidia ").strip()


def _is_whole(entry: Accelerator, multiprocessors: int | None) -> bool:
    """Whether this many multiprocessors are the whole card; on RDNA, torch counts pairs of compute units."""
    if multiprocessors is None or entry.multiprocessors is None:
        return True
    pairs = entry.multiprocessors // 2 if entry.architecture.startswith("rdna") else None
    return multiprocessors in (entry.multiprocessors, pairs)


def _has_memory(entry: Accelerator, memory_bytes: int) -> bool:
    """Whether the reported memory fits the entry; error correction takes up to a tenth of it."""
    return 0.85 * entry.memory_bytes < memory_bytes < 1.05 * entry.memory_bytes


_APPLE = re.compile(r"(?:apple)?m[1-9](?:pro|max|ultra)?")


def _unknown(name: str, known: Sequence[Accelerator]) -> str:
    if _APPLE.fullmatch(_spelling_key(name)):
        return f"Apple publishes no peaks, so {name} is not in the catalogue; describe it in a file, as measured."
    near = _nearest(name, known)
    meant = f"did you mean {' or '.join(near)}?" if near else "`diffprof hardware` lists the known ones."
    return f"Unknown accelerator {name!r}; {meant}"


def _nearest(name: str, known: Sequence[Accelerator]) -> tuple[str, ...]:
    """Short names that contain `name`; if there are none, those that are most similar."""
    import difflib

    key = _spelling_key(name)
    keys = {
        _spelling_key(label): entry.name
        for entry in known
        for label in (*entry.reported_names, *entry.aliases, entry.name)
    }
    containing = [keys[label] for label in keys if len(key) >= 2 and key in label]
    alike = [keys[label] for label in difflib.get_close_matches(key, keys, n=6, cutoff=0.6)]
    return tuple(dict.fromkeys(containing))[:6] or tuple(dict.fromkeys(alike))[:3]
