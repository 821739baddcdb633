"""Predicted times as files: one versioned JSON format, as `diffprof predict --json` prints it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from diffprof.errors import FileFormatError
from diffprof.record.atomic_files import replace_file
from diffprof.record.codec import RecordCodec
from diffprof.record.decoding_error import DecodingError
from diffprof.record.predicted import Prediction

FORMAT_NAME = "diffprof-prediction"

# 1: the first version; docs/prediction.md describes it.
FORMAT_VERSION = 1

MAX_FILE_BYTES = 64 * 1024 * 1024


def to_json(prediction: Prediction) -> dict[str, Any]:
    """The prediction as plain values."""
    return {"format": {"name": FORMAT_NAME, "version": FORMAT_VERSION}, **RecordCodec(Prediction).encode(prediction)}


def dumps(prediction: Prediction) -> str:
    """The prediction as the text that `save` writes."""
    return json.dumps(to_json(prediction), indent=1, allow_nan=False) + "\n"


def save(prediction: Prediction, path: str | Path) -> Path:
    """Write the prediction; an existing file is replaced in one go."""
    return replace_file(path, dumps(prediction).encode())


def load(path: str | Path) -> Prediction:
    """Read a prediction that `save` wrote; a `FileFormatError` says in one sentence why a file is not one."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise FileFormatError(f"Cannot read {path}: it is larger than any prediction.")
        values = json.loads(data)
    except OSError as error:
        raise FileFormatError(f"Cannot read {path}: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"Cannot read {path}: it is not valid JSON.") from error
    form = values.get("format") if isinstance(values, dict) else None
    if not isinstance(form, dict) or form.get("name") != FORMAT_NAME or form.get("version") != FORMAT_VERSION:
        raise FileFormatError(f"{path} is not a prediction; make one with `diffprof predict MODEL -o FILE.json`.")
    try:
        return cast(Prediction, RecordCodec(Prediction).decode(values))
    except DecodingError as error:
        raise FileFormatError(f"{path}: {error.when_reading()}") from None
