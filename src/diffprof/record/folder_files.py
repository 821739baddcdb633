"""Check the files of a model's folder before any of them is read: reading from a pipe would block forever."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from diffprof.errors import RequestError

TEXT_ENDINGS = (".json", ".txt", ".model", ".jinja", ".tiktoken", ".vocab", ".bpe")
"""Endings of files that are read as a whole: configurations, vocabularies, templates."""
LARGEST_TEXT_BYTES = 64 * 1024 * 1024
"""The largest published tokenizer has 35 MB."""
MAX_FILES = 20_000
TEMPLATES = "additional_chat_templates"
"""The only subfolder in which transformers looks for files of a tokenizer."""


def check_files(folder: Path) -> None:
    """Raise `RequestError` if a model's folder has a pipe, a device or an implausibly large text file."""
    paths = list(islice(model_files(folder), MAX_FILES + 1))
    if len(paths) > MAX_FILES:
        raise RequestError(f"{folder} has more than {MAX_FILES:,} files; give the folder of one model")
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue  # a broken link is not a file; code that needs it reports it
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise RequestError(f"{path} is a pipe, a socket or a device, not a file; remove it")
        if path.suffix.lower() in TEXT_ENDINGS and status.st_size > LARGEST_TEXT_BYTES and not path.is_dir():
            raise RequestError(
                f"{path} has {status.st_size:,} bytes, which is too large for a configuration or a vocabulary; "
                "check that it is the right file"
            )


def model_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a model: in its folder and in those of its components."""
    try:
        yield from folder.glob("*")
        yield from folder.glob("*/*")
        yield from folder.glob(f"*/{TEMPLATES}/*")
    except OSError as error:
        raise RequestError(f"{folder} cannot be read: {error.strerror or error}") from None
