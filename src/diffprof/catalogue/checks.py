"""Read an `Entry` from the tables of a catalogue file, and check every key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from diffprof.catalogue.entry import TASKS, Entry, Part, TokenizerFacts
from diffprof.catalogue.strict_table import StrictTable

CATALOGUE_FORMAT = 1
LIBRARIES = ("diffusers", "transformers")
MEDIA = ("image", "video", "audio")
YEARS = range(2020, 2100)

FindPart = Callable[[str], Part | None]
"""Looks up the part that ``same_as = "model.slot"`` refers to."""


def read_entry(values: Mapping[str, Any], name: str, find_part: FindPart = lambda reference: None) -> Entry:
    """Read the entry of the file ``<name>.toml``; `find_part` looks up parts of other entries."""
    table = StrictTable(values, f"the catalogue, {name}", smallest=0)
    if table.take("format", int) != CATALOGUE_FORMAT:
        table.refuse("format", f"must be {CATALOGUE_FORMAT}")
    if table.take("name", str) != name:
        table.refuse("name", "must be the name of the file")
    components = table.take("components", dict)
    entry = Entry(
        name=name,
        title=table.take("title", str),
        media=table.one_of("media", MEDIA),
        hub_id=table.take("hub_id", str, None) if "path" in values else table.take("hub_id", str),
        pipeline=table.take("pipeline", str),
        dtype=table.take("dtype", str),
        source=table.take("source", str),
        family=table.take("family", str, ""),
        task=table.one_of("task", TASKS) if "task" in values else "",
        year=_year(table),
        licence=table.take("licence", str, ""),
        facts_source=table.take("facts_source", str, ""),
        path=table.take("path", str, None),
        aliases=table.texts("aliases"),
        unconfirmed=table.texts("unconfirmed"),
        pipeline_config=table.take("pipeline_config", dict, {}),
        call=table.take("call", dict, {}),
        inputs=table.texts("inputs"),
        recommended=table.take("recommended", dict, {}),
        recommended_source=table.take("recommended_source", str, ""),
        components={
            slot: _other_part(slot, part, name, find_part) if _is_reference(part) else read_part(slot, part, name)
            for slot, part in components.items()
        },
    )
    table.finish()
    return entry


def _year(table: StrictTable) -> int | None:
    year: int | None = table.take("year", int, None)
    return year if year is None or year in YEARS else table.refuse("year", "must be the year of publication")


def read_part(slot: str, values: Any, model: str) -> Part:
    """Read a part that is described in the file itself."""
    table = StrictTable(values, f"the catalogue, {model}: components.{slot}", smallest=0)
    part = Part(
        slot=slot,
        class_name=table.take("class", str),
        library=table.one_of("library", LIBRARIES),
        config=_with_nones(table.take("config", dict, {}), table.texts("none")),
        parameters=table.take("parameters", int, None),
        buffers=table.take("buffers", int, 0),
        published=table.take("published", str, None),
        source=table.take("source", str, ""),
        tokenizer=_tokenizer(table) if "vocab_size" in values else None,
    )
    table.finish()
    return part


def _is_reference(values: Any) -> bool:
    return isinstance(values, Mapping) and "same_as" in values


def _other_part(slot: str, values: Any, model: str, find_part: FindPart) -> Part:
    """Read a part that is the same as one of another model, but has its own source."""
    table = StrictTable(values, f"the catalogue, {model}: components.{slot}", smallest=0)
    reference: str = table.take("same_as", str)
    part = find_part(reference)
    if part is None:
        table.refuse("same_as", f"must be a model of the catalogue and a slot described there, not {reference!r}")
    source = table.take("source", str, f"the same as {reference}: {part.source}")
    table.finish("is not a key of a part that is the same as another")
    return replace(part, slot=slot, source=source)


def _with_nones(config: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Set the dotted `keys` of the configuration to None; TOML has no null, so files list them separately."""
    result = dict(config)
    for key in keys:
        first, _, rest = key.partition(".")
        result[first] = _with_nones(result.get(first, {}), (rest,)) if rest else None
    return result


def _tokenizer(table: StrictTable) -> TokenizerFacts:
    return TokenizerFacts(
        model_max_length=table.take("model_max_length", int),
        vocab_size=table.take("vocab_size", int),
        prefix=table.texts("prefix"),
        suffix=table.texts("suffix"),
        padding_side=table.one_of("padding_side", ("right", "left"), "right"),
        special_tokens=table.take("special_tokens", dict, {}),
        roles=table.take("roles", dict, {}),
        chat_template=table.take("chat_template", str, None),
    )
