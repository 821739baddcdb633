"""Convert files of format version 1, in which shapes and two facts were text, to version 2.

Values that version 1 would not have written are passed on unchanged: the decoder refuses them and names the place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from diffprof.record.decoding_error import DecodingError, inside

_RESIZED = re.compile(r"(height|width|num_frames) (\d{1,18}) was asked for; the pipeline makes (\d{1,18})")
_COMPUTED = re.compile(r"the pipeline computes at (\d{1,18})x(\d{1,18}) and resizes to (\d{1,18})x(\d{1,18})")
_SHAPE = re.compile(r"\d{1,18}(?:x\d{1,18})*")


def upgrade(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a file of version 1 as in version 2; the argument is not changed."""
    try:
        with inside("calls"):
            calls = _convert_each(values.get("calls"), _call)
        with inside("costs"):
            costs = _convert_each(values.get("costs"), _cost)
    except DecodingError as error:
        raise error.when_reading() from None
    parts = values.get("components")
    components = {slot: _extend(part, slot=slot) for slot, part in parts.items()} if isinstance(parts, dict) else parts
    facts = _sizes(values.get("ledger"))
    if "measured" in values:
        # Version 1 described in a note how a run differs from its count; the note stays.
        facts["measured"] = _extend(values["measured"], mismatches=[])
    return {**values, "components": components, "calls": calls, "costs": costs, **facts}


def _convert_each(items: Any, convert: Callable[[dict[str, Any]], Any]) -> Any:
    if not isinstance(items, list):
        return items
    converted = []
    for number, item in enumerate(items):
        with inside(number):
            converted.append(convert(item) if isinstance(item, dict) else item)
    return converted


def _extend(values: Any, **more: Any) -> Any:
    return {**values, **more} if isinstance(values, dict) else values


def _call(call: dict[str, Any]) -> dict[str, Any]:
    """Parse ``sample 2x4x64x64, residuals 2x320x64x64 + 2x320x32x32``; of more than four tensors, the first four."""
    text = call.get("inputs")
    if not isinstance(text, str):
        return call
    inputs = []
    with inside("inputs"):
        for part in text.split(", ") if text else ():
            name, _, shapes = part.partition(" ")
            tensors = [{"shape": _shape(shape), "dtype": None} for shape in shapes.removesuffix(" ...").split(" + ")]
            inputs.append({"name": name, "tensors": tensors})
    return {**call, "inputs": inputs}


def _cost(cost: dict[str, Any]) -> dict[str, Any]:
    """Replace ``2x64, 64x64 -> 2x64`` in ``shapes`` by the columns ``inputs`` and ``outputs``."""
    operations = cost.get("operations")
    columns = operations.get("columns") if isinstance(operations, dict) else None
    rows = operations.get("rows") if isinstance(operations, dict) else None
    if not isinstance(columns, list) or not isinstance(rows, list) or columns.count("shapes") != 1:
        return cost
    place = columns.index("shapes")
    converted = []
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(columns) or not isinstance(row[place], str):
            raise DecodingError("does not fit its columns", "operations", number)
        with inside("operations", "rows", number):
            ins, _, outs = row[place].partition(" -> ")
            converted.append([*row[:place], _shapes(ins), _shapes(outs), *row[place + 1 :]])
    columns = [*columns[:place], "inputs", "outputs", *columns[place + 1 :]]
    return {**cost, "operations": {"columns": columns, "rows": converted}}


def _sizes(ledger: Any) -> dict[str, Any]:
    """Convert the sentences about sizes in the assumptions to facts."""
    resized, computed, others = [], None, []
    assumptions = ledger.get("assumptions") if isinstance(ledger, dict) else None
    for text in assumptions if isinstance(assumptions, list) else ():
        if isinstance(text, str) and (match := _RESIZED.fullmatch(text)):
            resized.append({"argument": match[1], "requested": int(match[2]), "made": int(match[3])})
        elif isinstance(text, str) and (match := _COMPUTED.fullmatch(text)):
            names = ("width", "height", "made_width", "made_height")
            computed = dict(zip(names, map(int, match.groups()), strict=True))
        else:
            others.append(text)
    if isinstance(assumptions, list):
        ledger = {**ledger, "assumptions": others}
    return {"ledger": ledger, "resized": resized, "computed_size": computed}


def _shapes(text: str) -> list[list[int]]:
    return [_shape(shape) for shape in text.split(", ")] if text else []


def _shape(text: str) -> list[int]:
    if text == "scalar":
        return []
    if not _SHAPE.fullmatch(text):
        raise DecodingError("is not a list of shapes")
    return [int(size) for size in text.split("x")]
