"""Convert a `Profile` to the values of its file, and back.

The codec derives the format from the dataclasses. This module handles what it cannot know: calls share their costs,
which are stored once, and the total is written for other readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_type_hints

from diffprof.record.checks import check_profile
from diffprof.record.codec import RecordCodec, decode_field, encode_field
from diffprof.record.decoding_error import DecodingError, inside
from diffprof.record.format_rules import ADDED
from diffprof.record.measured import Measured
from diffprof.record.profile import Call, Cost, Profile, Total, Work

_BY_TYPE = (
    *("request", "environment", "steps", "components", "resized", "computed_size", "placement", "texts", "ledger"),
    "counted_by",
)
"""Fields of a profile that the codec handles by their types."""

_ORDER = (
    *("request", "environment", "total", "steps", "components", "calls", "costs"),
    *("resized", "computed_size", "placement", "texts", "ledger", "counted_by"),
)
"""The keys of the file."""

_TYPES = get_type_hints(Profile)
_CALL, _WORK = RecordCodec(Call), RecordCodec(Work)


def encode_profile(profile: Profile) -> dict[str, Any]:
    """Encode everything but the format's name and version."""
    try:
        return _encode(profile)
    except DecodingError as error:
        raise error.when_writing() from None


def decode_profile(values: dict[str, Any]) -> Profile:
    """Decode the result of `encode_profile`; raise `FileFormatError` if the values are not consistent."""
    try:
        return _decode(values)
    except DecodingError as error:
        raise error.when_reading() from None


def encode_plain(value: Any, name: str) -> Any:
    """Encode a value of a request as JSON; an error names it."""
    try:
        return encode_field(name, Any, value)
    except DecodingError as error:
        raise error.when_writing() from None


def _encode(profile: Profile) -> dict[str, Any]:
    costs, numbers = _distinct_costs(profile.calls)
    parts = {name: encode_field(name, _TYPES[name], getattr(profile, name)) for name in _BY_TYPE}
    parts |= {
        "total": encode_field("total", Total, profile.total),
        "calls": [_encode_call(call, numbers[id(call.cost)]) for call in profile.calls],
        "costs": encode_field("costs", tuple[Cost, ...], costs),
    }
    measured = profile.measured
    return {
        **{name: parts[name] for name in _ORDER},
        **({} if measured is None else {"measured": encode_field("measured", Measured, measured)}),
    }


def _distinct_costs(calls: Iterable[Call]) -> tuple[list[Cost], dict[int, int]]:
    """Return each distinct cost once, and the number of every cost object, by `id`."""
    costs: list[Cost] = []
    known: dict[Cost, int] = {}
    numbers: dict[int, int] = {}
    for call in calls:
        # Hashing a cost visits all its tables, so calls that share the object skip it.
        if id(call.cost) in numbers:
            continue
        if call.cost not in known:
            known[call.cost] = len(costs)
            costs.append(call.cost)
        numbers[id(call.cost)] = known[call.cost]
    return costs, numbers


def _encode_call(call: Call, cost: int) -> dict[str, Any]:
    return {**_CALL.encode(call), **_WORK.encode(call.work), "cost": cost}


def _decode(values: dict[str, Any]) -> Profile:
    profile = Profile(
        **{
            name: decode_field(values, name, _TYPES[name])
            for name in _BY_TYPE
            if name in values or name not in ADDED.get(Profile, ())
        },
        calls=_decode_calls(values),
        # Only profiles of real runs have it.
        measured=decode_field(values, "measured", Measured) if "measured" in values else None,
    )
    check_profile(profile)
    if decode_field(values, "total", Total) != profile.total:
        raise DecodingError("is not the sum of the components", "total")
    return profile


def _decode_calls(values: Mapping[str, Any]) -> tuple[Call, ...]:
    costs = decode_field(values, "costs", tuple[Cost, ...])
    calls = []
    for number, call in enumerate(decode_field(values, "calls", tuple[Mapping[str, Any], ...])):
        with inside("calls", number):
            calls.append(_decode_call(call, costs))
    return tuple(calls)


def _decode_call(values: Mapping[str, Any], costs: Sequence[Cost]) -> Call:
    number = decode_field(values, "cost", int)
    if number >= len(costs):
        raise DecodingError("refers to a cost that does not exist", "cost")
    if _WORK.decode(values) != costs[number].work:
        raise DecodingError("does not agree with the cost that it refers to")
    call: Call = _CALL.decode(values, cost=costs[number])
    return call
