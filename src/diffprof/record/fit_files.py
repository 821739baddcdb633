"""Predicted memory as files: one versioned JSON format, as `diffprof fit --json` prints it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from diffprof.errors import FileFormatError
from diffprof.record.atomic_files import replace_file
from diffprof.record.codec import RecordCodec
from diffprof.record.decoding_error import DecodingError
from diffprof.record.fitted import Fit

FORMAT_NAME = "diffprof-fit"

# 1: the first version; docs/memory.md describes it.
FORMAT_VERSION = 1

MAX_FILE_BYTES = 16 * 1024 * 1024


def to_json(fit: Fit) -> dict[str, Any]:
    """The fit as plain values."""
    return {"format": {"name": FORMAT_NAME, "version": FORMAT_VERSION}, **RecordCodec(Fit).encode(fit)}


def dumps(fit: Fit) -> str:
    """The fit as the text that `save` writes."""
    return json.dumps(to_json(fit), indent=1, allow_nan=False) + "\n"


def save(fit: Fit, path: str | Path) -> Path:
    """Write the fit; an existing file is replaced in one go."""
    return replace_file(path, dumps(fit).encode())


def load(path: str | Path) -> Fit:
    """Read a fit that `save` wrote; a `FileFormatError` says in one sentence why a file is not one."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise FileFormatError(f"Cannot read {path}: it is larger than any fit.")
        values = json.loads(data)
    except OSError as error:
        raise FileFormatError(f"Cannot read {path}: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"Cannot read {path}: it is not valid JSON.") from error
    form = values.get("format") if isinstance(values, dict) else None
    if not isinstance(form, dict) or form.get("name") != FORMAT_NAME or form.get("version") != FORMAT_VERSION:
        raise FileFormatError(f"{path} is not a fit; make one with `diffprof fit MODEL -o FILE.json`.")
    try:
        return cast(Fit, RecordCodec(Fit).decode(values))
    except DecodingError as error:
        raise FileFormatError(f"{path}: {error.when_reading()}") from None
