"""Write files atomically: readers see the old content or the new one, never a part."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterable
from pathlib import Path

from diffprof.errors import OutputError


def replace_file(path: str | Path, data: bytes | Iterable[bytes]) -> Path:
    """Write `data`, whole or in pieces, under a temporary name next to `path`, then rename it.

    Raise `OutputError` if that is not possible.
    """
    target = Path(path)
    pieces = (data,) if isinstance(data, bytes) else data
    try:
        if target.is_dir():
            raise OutputError(f"Cannot write {target}: it is a folder; name a file in it.")
        if target.exists() and not target.is_file():
            # Write directly to a pipe or a device (/dev/stdout, /dev/null); renaming would replace it by a plain file.
            with target.open("wb") as file:
                file.writelines(pieces)
        else:
            _write_and_rename(Path(os.path.realpath(target)), pieces)
    except OSError as error:
        raise OutputError(f"Cannot write {target}: {error.strerror or error}.") from error
    return target


def check_folder(folder: Path) -> None:
    """Fail before the work instead of after it if its results could not be written; nothing is created yet."""
    try:
        nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        if not nearest.is_dir():
            raise OutputError(f"Cannot write into {folder}: {nearest} is not a folder.")
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise OutputError(f"Cannot write into {folder}: {error.strerror or error}.") from error


def check_writable(file: Path) -> None:
    """Fail before the work instead of after it if the file could not be written."""
    try:
        if file.is_dir():
            raise OutputError(f"Cannot write {file}: it is a folder; name a file in it.")
        if not file.parent.is_dir():
            wrong = f"{file.parent} is not a folder" if file.parent.exists() else f"there is no folder {file.parent}"
            raise OutputError(f"Cannot write {file}: {wrong}.")
        if file.exists() and not os.access(file, os.W_OK):
            raise OutputError(f"Cannot write {file}: it is write-protected.")
        # Pipes and devices are written directly; any other file is first created next to its place.
        if file.is_file() or not file.exists():
            _probe(Path(os.path.realpath(file)))
    except OSError as error:
        raise OutputError(f"Cannot write {file}: {error.strerror or error}.") from error


def _write_and_rename(target: Path, pieces: Iterable[bytes]) -> None:
    if target.exists() and not os.access(target, os.W_OK):
        raise OutputError(f"Cannot write {target}: it is write-protected.")
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        # Created with the modes of the umask, like any other file; mkstemp would make it private.
        with temporary.open("xb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except BaseException:
        # Even after Ctrl-C, nothing is left behind.
        temporary.unlink(missing_ok=True)
        raise


def _probe(target: Path) -> None:
    """Create and remove a file, as writing the result will."""
    probe = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        probe.touch(exist_ok=False)
    except FileNotFoundError:
        # The folder exists, so "no such file" would be misleading: some file systems, such as /proc, create no files.
        raise OutputError(f"Cannot write {target}: no file can be created in {target.parent}.") from None
    probe.unlink()
