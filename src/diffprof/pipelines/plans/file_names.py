"""Distinguish models with exactly the same weights by the name of the file and by diffusers' own table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from diffprof.catalogue import Entry

WORD = re.compile(r"[a-z]+|\d+")
SHORTEST_WORD = 3
"""Shorter words occur in too many names to be useful."""


def most_likely_entry(entries: Sequence[Entry], file: Path, inferred: str | None) -> Entry:
    """Return the model that the file's name suggests, else the one that diffusers infers, else the oldest.

    `inferred` is the repository from which diffusers' loader would take the configuration.
    """
    words = Counter(WORD.findall(file.stem.lower()))
    known = loader_hub_ids()
    return min(
        entries,
        key=lambda entry: (
            _name_mismatch(entry, words),
            inferred is None or inferred.lower() not in map(str.lower, entry.names),
            not known & set(map(str.lower, entry.names)),
            not entry.task.startswith("text-to-"),  # it needs no input but a prompt
            entry.year or 9999,
            entry.name,
        ),
    )


def _name_mismatch(entry: Entry, words: Counter[str]) -> tuple[int, int, int]:
    """Return how badly a file's name matches a model: by letters, then by common words, then by missing words."""
    found = [(0, 0, 0)]
    for name in entry.names:
        own = Counter(WORD.findall(name.rpartition("/")[2].lower()))
        letters = sum(len(word) for word in own.keys() & words.keys() if word.isalpha() and len(word) >= SHORTEST_WORD)
        if letters:
            found.append((-letters, -(own & words).total(), (own - words).total()))
    return min(found)


def loader_hub_ids() -> set[str]:
    """Return the repositories from which diffusers' single-file loader takes configurations, in lower case."""
    from diffusers.loaders import single_file_utils as loader

    places = loader.DIFFUSERS_DEFAULT_PIPELINE_PATHS.values()
    return {place["pretrained_model_name_or_path"].lower() for place in places}
