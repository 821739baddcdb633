"""JSON from outside: its values are counted before any of them is created."""

from __future__ import annotations

import json
from typing import Any

MOST_VALUES = 8_000_000
"""An empty list takes two letters in a file and thirty times as much in memory: these take 0.6 GB. The profile of a
large model has 60,000 values, the largest published tokenizer 1,500,000."""


def parse_json(data: str | bytes, most_values: int = MOST_VALUES, **options: Any) -> Any:
    """The value that a text spells; a `ValueError` where it holds more values than that, or is no JSON."""
    # Each value but the first follows one of these. Those inside of texts are counted as well, which are few.
    if isinstance(data, str):
        values = sum(data.count(sign) for sign in ",[{")
    else:
        values = sum(data.count(sign) for sign in b",[{")
    if values > most_values:
        raise ValueError(f"more than {most_values:,} values")
    return json.loads(data, **options)
