"""The catalogue of well-known models, one TOML file each in ``models/``."""

from diffprof.catalogue.entry import Entry, Part, TokenizerFacts
from diffprof.catalogue.reader import Head, content, entries, find, heads, nearest, unknown_model_message

__all__ = [
    "Entry",
    "Head",
    "Part",
    "TokenizerFacts",
    "content",
    "entries",
    "find",
    "heads",
    "nearest",
    "unknown_model_message",
]
