"""The files that traces are written to: names, compression, encoding, and what a full disk leaves behind."""

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
    """Create the folder for traces, and check that it can be written to: after hours of work would be too late."""
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
    """Empty the files in the folder if the block fails: torch keeps a file open that it could not finish.

    Merely deleted, the file would fill the disk until the process ends, and nothing else could be written.
    """
    try:
        yield
    except BaseException:
        for piece in folder.iterdir():
            os.truncate(piece, 0)
        raise


def ends_with(path: Path, end: bytes) -> bool:
    """Whether the file ends with these bytes, whitespace aside."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - TAIL_BYTES, 0))
        return file.read().rstrip().endswith(end)


def repair_encoding(path: Path) -> bool:
    """Replace bytes that are not valid UTF-8 by U+FFFD, so that JSON readers accept the file; returns if any were."""
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
    """The name of a trace without what would lead out of its folder, or what some system does not allow."""
    return re.sub(r'[\x00-\x1f<>:"/\\|?*]', "_", name).strip(". ")[:LONGEST_NAME] or "trace"


def rank_ending() -> str:
    """Part of a file name that tells the ranks of one `torchrun` apart; empty for a single process."""
    rank, ranks = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return f".rank{rank}" if rank.isdigit() and ranks.isdigit() and int(ranks) > 1 else ""


def remove_other_form(target: Path) -> None:
    """Remove an earlier trace of that name in the other form, compressed or not: it would be mistaken for this one."""
    other = target.with_suffix("") if target.suffix == ".gz" else target.with_name(f"{target.name}.gz")
    other.unlink(missing_ok=True)
