"""From the tables of a catalogue file to an `Entry`: a wrong or unknown key is an error that names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from diffprof.catalogue.entry import Entry, Part, TokenizerFacts
from diffprof.errors import FileFormatError

CATALOGUE_FORMAT = 1
LIBRARIES = ("diffusers", "transformers")
MEDIA = ("image", "video")


def read_entry(values: Mapping[str, Any], name: str) -> Entry:
    """The entry that the file ``<name>.toml`` describes."""
    table = _Table(values, name)
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
    table = _Table(values, where)
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


def _tokenizer(table: _Table) -> TokenizerFacts:
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


_REQUIRED = object()


class _Table:
    """A table of the file: hands out each key once, and knows at the end which keys nobody asked for."""

    def __init__(self, values: Any, where: str) -> None:
        self.where = where
        if not isinstance(values, Mapping):
            raise FileFormatError(f"In the catalogue, {where} must be a table.")
        self.values = values
        self.taken: set[str] = set()

    def refuse(self, key: str, why: str) -> NoReturn:
        raise FileFormatError(f"In the catalogue, {self.where}: {key} {why}.")

    def take(self, key: str, kind: type, default: Any = _REQUIRED) -> Any:
        self.taken.add(key)
        if key not in self.values:
            return self.refuse(key, "is missing") if default is _REQUIRED else default
        value = self.values[key]
        if type(value) is not kind:
            self.refuse(key, f"must be of type {kind.__name__}")
        if isinstance(value, int) and value < 0:
            self.refuse(key, "must not be negative")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        values = self.take(key, list, [])
        if not all(isinstance(value, str) for value in values):
            self.refuse(key, "must be a list of texts")
        return tuple(values)

    def one_of(self, key: str, choices: tuple[str, ...], default: Any = _REQUIRED) -> str:
        value: str = self.take(key, str, default)
        if value not in choices:
            self.refuse(key, f"must be one of {', '.join(choices)}")
        return value

    def finish(self) -> None:
        unknown = [key for key in self.values if key not in self.taken]
        if unknown:
            self.refuse(unknown[0], "is not a known key")
