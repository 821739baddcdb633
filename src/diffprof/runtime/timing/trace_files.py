"""Files of traces: names, compression, encoding, and cleaning up after a full disk."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from diffprof.errors import OutputError

MEBIBYTE = 1024**2
TAIL_BYTES = 64
LONGEST_NAME = 120


def create_folder(folder: Path) -> None:
    """Create the folder for traces, and check in advance that it can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OutputError(f"Cannot write a trace into {folder}: it is not a folder.") from error
    except OSError as error:
        raise OutputError(f"Cannot write a trace into {folder}: {error.strerror or error}.") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"Cannot write a trace into {folder}: the folder is write-protected.")


@contextlib.contextmanager
def truncate_on_failure(folder: Path) -> Iterator[None]:
    """Empty the files in the folder if the block fails, because torch keeps unfinished files open.

    Deleting such a file would not free its disk space until the process ends.
    """
    try:
        yield
    except BaseException:
        for piece in folder.iterdir():
            os.truncate(piece, 0)
        raise


def ends_with(path: Path, end: bytes) -> bool:
    """Whether the file ends with these bytes, ignoring whitespace."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - TAIL_BYTES, 0))
        return file.read().rstrip().endswith(end)


def repair_encoding(path: Path) -> bool:
    """Replace bytes that are not valid UTF-8 by U+FFFD, as JSON readers need it; False if there are none."""
    if _is_utf8(path):
        return False
    repaired = path.with_name(f"{path.name}.utf8")
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with path.open("rb") as source, repaired.open("wb") as target:
        while chunk := source.read(MEBIBYTE):
            target.write(decoder.decode(chunk).encode())
        target.write(decoder.decode(b"", final=True).encode())
    repaired.replace(path)
    return True


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        try:
            while chunk := file.read(MEBIBYTE):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def compress(path: Path) -> Path:
    """Replace the file by its gzip form."""
    target = path.with_name(f"{path.name}.gz")
    with path.open("rb") as source, gzip.open(target, "wb", compresslevel=5) as compressed:
        shutil.copyfileobj(source, compressed, MEBIBYTE)
    path.unlink()
    return target


def safe_file_name(name: str) -> str:
    """Remove characters from a trace's name that could leave its folder, or that some systems do not allow."""
    return re.sub(r'[\x00-\x1f<>:"/\\|?*]', "_", name).strip(". ")[:LONGEST_NAME] or "trace"


def rank_ending() -> str:
    """The part of a file name that distinguishes the ranks of `torchrun`; empty for a single process."""
    rank, ranks = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return f".rank{rank}" if rank.isdigit() and ranks.isdigit() and int(ranks) > 1 else ""


def remove_other_form(target: Path) -> None:
    """Remove an older trace of this name in the other form (compressed or not), to avoid confusion."""
    other = target.with_suffix("") if target.suffix == ".gz" else target.with_name(f"{target.name}.gz")
    other.unlink(missing_ok=True)
