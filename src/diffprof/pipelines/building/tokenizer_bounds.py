"""Bounds for what ``tokenizer.json`` does to a text: its library aborts the process when memory runs out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from diffprof.errors import RequestError
from diffprof.record.bounded_json import parse_json

MAX_GROWTH = 1_000
"""The factor by which a normalizer may lengthen a text. Published ones replace single characters."""
LONGEST_ADDITION = 10_000
"""The most characters or tokens that may be added to every text. Published tokenizers add a few."""


def check_tokenizer_file(folder: Path) -> None:
    """Raise a `RequestError` if the file would make short texts extremely long."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return
    try:
        values = parse_json(path.read_bytes())
        growth, added = _growth_of(values.get("normalizer"), 1, 0)
        added = max(added, _added_tokens(values.get("post_processor")))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return  # not such a file, which the library reports itself
    if growth > MAX_GROWTH or added > LONGEST_ADDITION:
        raise RequestError(f"{path} makes every text longer than any tokenizer does; check the file")


def _growth_of(normalizer: Any, growth: int, added: int) -> tuple[int, int]:
    """Return the largest factor by which a text grows, and the length of its prefix."""
    if not isinstance(normalizer, dict) or growth > MAX_GROWTH:
        return growth, added
    for part in normalizer.get("normalizers") or ():
        growth, added = _growth_of(part, growth, added)
    content = normalizer.get("content")
    if isinstance(content, str) and len(content) > 1:
        # One for each character; for a pattern that matches the empty string, one between two characters.
        growth, added = growth * (len(content) + 1), added * (len(content) + 1)
    return growth, added + len(str(normalizer.get("prepend") or ""))


def _added_tokens(processor: Any) -> int:
    """Return the number of special tokens that a template adds around a text."""
    if not isinstance(processor, dict):
        return 0
    numbers = {name: len(token.get("ids") or ()) for name, token in (processor.get("special_tokens") or {}).items()}
    templates = [processor.get(name) or () for name in ("single", "pair")]
    own = [
        sum(numbers.get((part.get("SpecialToken") or {}).get("id"), 0) for part in template) for template in templates
    ]
    return max(0, *own, *(_added_tokens(part) for part in processor.get("processors") or ()))
