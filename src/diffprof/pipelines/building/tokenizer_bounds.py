"""Bounds for what ``tokenizer.json`` does to a text: the library that runs it aborts when memory runs out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from diffprof.errors import RequestError
from diffprof.record.bounded_json import parse_json

MOST_GROWTH = 1_000
"""How many times as long a normalizer may make a text. Published ones replace a letter by another."""
LONGEST_ADDITION = 10_000
"""Characters or tokens that are added to every text. Published ones add a few."""


def check_tokenizer_file(folder: Path) -> None:
    """Raise a `RequestError` where the file would make a short text endless."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return
    try:
        values = parse_json(path.read_bytes())
        growth, added = _growth_of(values.get("normalizer"), 1, 0)
        added = max(added, _added_tokens(values.get("post_processor")))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return  # it is no such file, which the library says in its own words
    if growth > MOST_GROWTH or added > LONGEST_ADDITION:
        raise RequestError(f"{path} makes every text longer than any tokenizer does; check the file")


def _growth_of(normalizer: Any, growth: int, added: int) -> tuple[int, int]:
    """How many times as long a text becomes at most, and what is put before it."""
    if not isinstance(normalizer, dict) or growth > MOST_GROWTH:
        return growth, added
    for part in normalizer.get("normalizers") or ():
        growth, added = _growth_of(part, growth, added)
    content = normalizer.get("content")
    if isinstance(content, str) and len(content) > 1:
        # One for each letter, and where the pattern fits nothing at all, one between two letters.
        growth, added = growth * (len(content) + 1), added * (len(content) + 1)
    return growth, added + len(str(normalizer.get("prepend") or ""))


def _added_tokens(processor: Any) -> int:
    """The special tokens around a text, where a template says which."""
    if not isinstance(processor, dict):
        return 0
    numbers = {name: len(token.get("ids") or ()) for name, token in (processor.get("special_tokens") or {}).items()}
    templates = [processor.get(name) or () for name in ("single", "pair")]
    own = [
        sum(numbers.get((part.get("SpecialToken") or {}).get("id"), 0) for part in template) for template in templates
    ]
    return max(0, *own, *(_added_tokens(part) for part in processor.get("processors") or ()))
