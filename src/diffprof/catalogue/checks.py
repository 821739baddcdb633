"""From the tables of a catalogue file to an `Entry`: a wrong or unknown key is an error that names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diffprof.catalogue.entry import Entry, Part, TokenizerFacts
from diffprof.catalogue.strict_table import StrictTable

CATALOGUE_FORMAT = 1
LIBRARIES = ("diffusers", "transformers")
MEDIA = ("image", "video")


def read_entry(values: Mapping[str, Any], name: str) -> Entry:
    """The entry that the file ``<name>.toml`` describes."""
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
        hub_id=table.take("hub_id", str),
        pipeline=table.take("pipeline", str),
        dtype=table.take("dtype", str),
        source=table.take("source", str),
        aliases=table.texts("aliases"),
        unconfirmed=table.texts("unconfirmed"),
        pipeline_config=table.take("pipeline_config", dict, {}),
        call=table.take("call", dict, {}),
        recommended=table.take("recommended", dict, {}),
        components={slot: _part(slot, part, f"{name}: components.{slot}") for slot, part in components.items()},
    )
    table.finish()
    return entry


def _part(slot: str, values: Any, where: str) -> Part:
    table = StrictTable(values, f"the catalogue, {where}", smallest=0)
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


def _with_nones(config: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """The configuration with None at the dotted `keys`: TOML has no null, so they are listed apart."""
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
