"""The fitted numbers of the time model, from ``efficiency.toml``: what accelerators achieve in practice."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from diffprof.catalogue.accelerators import Accelerator
from diffprof.catalogue.efficiency_numbers import NAMES, Efficiency
from diffprof.catalogue.strict_table import StrictTable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = Path(__file__).parent / "efficiency.toml"
FILE_FORMAT = 1


@dataclass(frozen=True)
class Number:
    """A fitted number with its meaning and its source."""

    value: float
    meaning: str
    source: str


@dataclass(frozen=True)
class FittedNumbers:
    """The numbers of ``efficiency.toml``: common ones, and exceptions for families and single accelerators."""

    shared: Mapping[str, Number]
    families: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)
    """The exceptions, by family or by the name of an accelerator."""

    def number(self, name: str, family: str = "", accelerator: str = "") -> Number:
        """The number for an accelerator: its own, else its family's, else the common one."""
        for owner in (accelerator, family, RELATIVES.get(family, "")):
            if name in self.families.get(owner, {}):
                return self.families[owner][name]
        return self.shared[name]

    def efficiency(self, accelerator: Accelerator) -> Efficiency:
        """All numbers for one accelerator."""
        family = family_of(accelerator)
        numbers = {name: self.number(name, family, accelerator.name).value for name in NAMES}
        return Efficiency(**{**numbers, **accelerator.measured})

    def is_known(self, accelerator: Accelerator) -> bool:
        """Whether the fit used times of this accelerator itself."""
        return accelerator.name in self.families

    def with_values(self, values: Mapping[tuple[str, str], float]) -> FittedNumbers:
        """A copy with other values, by family (``""`` for all) and name; used by the fit."""
        shared = {name: _with_value(number, values.get(("", name))) for name, number in self.shared.items()}
        families = {
            family: {name: _with_value(number, values.get((family, name))) for name, number in numbers.items()}
            for family, numbers in self.families.items()
        }
        return FittedNumbers(shared, families)


def _with_value(number: Number, value: float | None) -> Number:
    return number if value is None else replace(number, value=value)


GRAPHICS = "-graphics"
RELATIVES = {"blackwell-graphics": "ada", "cdna4": "cdna3", "cdna2": "cdna3", "cdna": "cdna3"}
"""Families without measured times, and the most similar family, whose numbers they use."""


def family_of(accelerator: Accelerator) -> str:
    """The family of an accelerator: its architecture, with separate families for graphics and compute chips.

    Compute chips have 16 times the matrix throughput of their vector throughput, graphics chips 2 to 4 times.
    """
    peaks = accelerator.peak_flops_per_second
    vector, matrix = peaks.get("float32"), peaks.get("float16")
    is_graphics = vector is not None and matrix is not None and vector > 0.2 * matrix
    split = accelerator.architecture in ("ampere", "blackwell")
    return f"{accelerator.architecture}{GRAPHICS}" if split and is_graphics else accelerator.architecture


@cache
def fitted_numbers() -> FittedNumbers:
    """The numbers that are part of diffprof."""
    return read_numbers(FILE)


def read_numbers(path: Path) -> FittedNumbers:
    """Read the numbers of a file in the format of ``efficiency.toml``."""
    document = StrictTable(tomllib.loads(path.read_text(encoding="utf-8")), path.name)
    if document.take("format", int) != FILE_FORMAT:
        document.refuse("format", f"must be {FILE_FORMAT}")
    shared = _numbers(document.take("shared", dict), f"{path.name}, shared", {})
    families = {
        family: _numbers(table, f"{path.name}, family {family}", shared)
        for family, table in (document.take("family", dict, {}) | document.take("accelerator", dict, {})).items()
    }
    document.finish()
    for name in NAMES:
        if name not in shared:
            document.refuse(f"shared.{name}", "is missing")
    return FittedNumbers(shared, families)


def _numbers(values: Any, where: str, shared: Mapping[str, Number]) -> dict[str, Number]:
    table = StrictTable(values, where)
    read = {}
    for name in NAMES:
        if name in table.values:
            entry = StrictTable(table.take(name, dict), f"{where}, {name}")
            meaning = shared[name].meaning if name in shared else entry.text("meaning")
            read[name] = Number(entry.number("value"), meaning, entry.text("source"))
            entry.finish()
    table.finish()
    return read
