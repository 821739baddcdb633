"""Write an entry of the catalogue as a TOML file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diffprof.catalogue.checks import CATALOGUE_FORMAT
from diffprof.catalogue.entry import Entry, Part, TokenizerFacts
from diffprof.errors import RequestError

HEAD = (
    *("title", "family", "task", "year", "licence", "facts_source", "media", "hub_id", "path"),
    *("aliases", "pipeline", "dtype", "inputs", "source"),
)


def entry_toml(entry: Entry, references: Mapping[str, str] | None = None) -> str:
    """The text of the file; `references` are slots that are the same as a part ``model.slot`` of another entry."""
    head: dict[str, Any] = {"format": CATALOGUE_FORMAT, "name": entry.name}
    head |= {key: getattr(entry, key) for key in HEAD if getattr(entry, key)}
    lines = [*_pairs(head), *_list_lines("unconfirmed", entry.unconfirmed)]
    lines += _pairs({"recommended_source": entry.recommended_source} if entry.recommended_source else {})
    for title, values in (
        ("pipeline_config", entry.pipeline_config),
        ("call", entry.call),
        ("recommended", entry.recommended),
    ):
        lines += _table((title,), values) if values else []
    for slot, part in entry.components.items():
        place = ("components", slot)
        reference = (references or {}).get(slot)
        values = {"same_as": reference, "source": part.source} if reference else _part_values(part)
        lines += _table(place, values)
        if not reference:
            lines += _table((*place, "config"), _without_nones(part.config)) if _without_nones(part.config) else []
            for title in ("special_tokens", "roles"):
                facts = getattr(part.tokenizer, title) if part.tokenizer else {}
                lines += _table((*place, title), facts) if facts else []
    return "\n".join(lines) + "\n"


def _part_values(part: Part) -> dict[str, Any]:
    values: dict[str, Any] = {"class": part.class_name, "library": part.library}
    values |= {"parameters": part.parameters} if part.parameters is not None else {}
    values |= {"buffers": part.buffers} if part.buffers else {}
    values |= {"published": part.published} if part.published else {}
    values |= _tokenizer_values(part.tokenizer) if part.tokenizer else {}
    values |= {"source": part.source} if part.source else {}
    nones = list(_none_keys(part.config))
    return values | ({"none": nones} if nones else {})


def _tokenizer_values(facts: TokenizerFacts) -> dict[str, Any]:
    values: dict[str, Any] = {"model_max_length": facts.model_max_length, "vocab_size": facts.vocab_size}
    values |= {"prefix": list(facts.prefix), "suffix": list(facts.suffix), "padding_side": facts.padding_side}
    return values | ({"chat_template": facts.chat_template} if facts.chat_template is not None else {})


def _none_keys(config: Mapping[str, Any]) -> Iterator[str]:
    """The dotted keys of None values; TOML has no null, so the file lists them separately."""
    for key, value in config.items():
        if value is None:
            yield key
        elif isinstance(value, Mapping):
            yield from (f"{key}.{inner}" for inner in _none_keys(value))


def _without_nones(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _without_nones(value) if isinstance(value, Mapping) else value
        for key, value in config.items()
        if value is not None
    }


def _table(place: tuple[str, ...], values: Mapping[str, Any]) -> list[str]:
    """The lines of a table: its own values, then nested tables."""
    own = {key: value for key, value in values.items() if not isinstance(value, Mapping)}
    inner = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    lines = ["", f"[{'.'.join(map(_key, place))}]", *_pairs(own)]
    for key, value in inner.items():
        lines += _table((*place, key), value)
    return lines


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in values.items()]


def _list_lines(key: str, texts: Sequence[str]) -> list[str]:
    """A list of strings, one on each line."""
    return [f"{key} = [", *(f"  {_value(text)}," for text in texts), "]"] if texts else []


def _key(key: Any) -> str:
    key = str(key)
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "nan" if math.isnan(value) else f"{'-' if value < 0 else ''}inf"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        # JSON strings are valid in TOML, except for one character that JSON does not escape.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_pairs(value)) + " }" if value else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    raise RequestError(f"a catalogue file cannot hold {value!r}: TOML has no value of that kind")
