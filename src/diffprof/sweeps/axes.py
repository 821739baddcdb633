"""The axes of ``diffprof sweep``, parsed from words such as ``heights=512..2048:64``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from diffprof.catalogue.accelerators import find_accelerator
from diffprof.catalogue.own_accelerators import known_accelerators
from diffprof.errors import RequestError
from diffprof.record.request import Request, check_number
from diffprof.settings.limits import LIMITS, SHORT_NAMES, dtype_name
from diffprof.sweeps.records import Sweep, SweepMeasurement

PLURALS = {
    "models": "model",
    "heights": "height",
    "widths": "width",
    "sizes": "size",
    "guidances": "guidance",
    "batches": "batch",
    "dtypes": "dtype",
    "gpus": "gpu",
}
"""Singular forms that are accepted for each axis."""

KNOWN = ("models", "sizes", "heights", "widths", "frames", "steps", "guidances", "batches", "dtypes", "gpus")

MAX_VALUES = 100_000
"""The most values of one range; more are surely a typo."""

_RANGE = re.compile(r"(-?[\d.]+?)\.\.(-?[\d.]+?)(?::([\d.]+))?")
_SIZE = re.compile(r"(\d+)x(\d+)", re.ASCII)


def parse_sweep(words: Sequence[str], base: Request, measurement: SweepMeasurement | None = None) -> Sweep:
    """Parse the arguments of the command line; `base` has what all requests share."""
    values: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = PLURALS.get(name, name)
        if not equals or not text:
            raise RequestError(f"A sweep takes NAME=VALUES, such as models=sdxl or heights=512..2048:64, not {word!r}.")
        if name in values:
            raise RequestError(f"{name} is given twice; list its values once, separated by commas.")
        values[name] = text
    lists = {name: text.split(",") for name, text in values.items()}
    return create_sweep(base, measurement, **lists)


def create_sweep(base: Request, measurement: SweepMeasurement | None = None, **axes: Any) -> Sweep:
    """Create a sweep over axes; each is a value, a string such as ``512..2048:64``, or a list of both."""
    listed = {PLURALS.get(name, name): _list(values) for name, values in axes.items() if values is not None}
    models = tuple(str(model) for model in listed.pop("model", ()))
    if not models or not all(models):
        raise RequestError("A sweep needs models, such as models=flux.1-dev,sdxl.")
    sizes = tuple(pair for value in listed.pop("size", ()) for pair in _sizes(value))
    dtypes = tuple(dict.fromkeys(dtype_name(value) or "" for value in listed.pop("dtype", ())))
    gpus = _accelerators([str(value).strip() for value in listed.pop("gpu", ())])
    arguments: dict[str, tuple[Any, ...]] = {}
    for name, values in listed.items():
        if name not in SHORT_NAMES:
            raise RequestError(f"A sweep cannot vary {name}; it varies {', '.join(KNOWN)}.")
        full = SHORT_NAMES[name]
        if full in base.arguments:
            raise RequestError(f"{name} is given twice, as a value of the sweep and by --set; leave one out.")
        arguments[full] = tuple(dict.fromkeys(number for value in values for number in _numbers(name, full, value)))
    if sizes and {"height", "width"} & arguments.keys():
        raise RequestError("sizes give height and width; leave heights and widths out.")
    if measurement is not None and gpus:
        raise RequestError("A measured sweep runs on the devices that are there; leave gpus out, or --measure.")
    return Sweep(base, tuple(dict.fromkeys(models)), arguments, tuple(dict.fromkeys(sizes)), dtypes, gpus, measurement)


def _accelerators(names: list[str]) -> tuple[str, ...]:
    """Distinct short names of accelerators; ``all`` means every known one."""
    known = known_accelerators()
    if names == ["all"]:
        return tuple(entry.name for entry in known)
    return tuple(dict.fromkeys(find_accelerator(name, known).name for name in names))


def _list(values: Any) -> list[Any]:
    if isinstance(values, str):
        return values.split(",")
    return list(values) if isinstance(values, Iterable) else [values]


def _numbers(name: str, argument: str, value: Any) -> Iterable[Any]:
    limit = LIMITS[argument]
    match = _RANGE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        number = limit.parse(value, name) if isinstance(value, str) else value
        check_number(argument, number, name)
        return (number,)
    first, last = (limit.parse(text, name) for text in match.groups()[:2])
    return _range(name, first, last, match[3])


def _range(name: str, first: Any, last: Any, step: str | None) -> Iterable[Any]:
    """The values from the first to the last, which is included if the step meets it."""
    try:
        each = Decimal(step) if step is not None else Decimal(1)
    except ArithmeticError:
        each = Decimal(0)
    whole = isinstance(first, int)
    if each <= 0 or (whole and each != int(each)):
        kind = "a whole number" if whole else "a number"
        raise RequestError(f"The step of {name} must be {kind} above 0, not {step!r}.")
    start, end = Decimal(str(first)), Decimal(str(last))
    if end < start:
        raise RequestError(f"{name} goes from {first} to {last}: the smaller number comes first.")
    count = int((end - start) / each) + 1
    if count > MAX_VALUES:
        raise RequestError(f"{name} has {count:,} values, more than the limit of {MAX_VALUES:,}; use larger steps.")
    return [int(start + each * place) if whole else float(start + each * place) for place in range(count)]


def _sizes(value: Any) -> Iterable[tuple[int, int]]:
    """Height and width: ``1024`` for a square, ``832x1216`` for width x height, ``512..2048:64`` for squares."""
    if isinstance(value, tuple | list) and len(value) == 2:
        pairs = [(value[0], value[1])]
    elif isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        pairs = [(int(match[2]), int(match[1]))]
    else:
        pairs = [(number, number) for number in _numbers("height", "height", value)]
    for height, width in pairs:
        check_number("height", height, "the height of sizes")
        check_number("width", width, "the width of sizes")
    return pairs
