"""Profiles cached on disk, each under a key of everything that it depends on; reading one needs no torch."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffprof import settings as config
from diffprof.errors import DiffprofError
from diffprof.record.files import FORMAT_VERSION, load, save
from diffprof.record.folder_files import TEXT_ENDINGS, check_files, model_files
from diffprof.record.profile import Profile

MAX_BYTES = 256 * 1024 * 1024
HEADER_BYTES = 1024 * 1024
"""How much of a weight file is read to identify it: the whole header, for most files."""
COUNTING_LIBRARIES = ("diffprof", "torch", "diffusers", "transformers")

# Files of the cache, complete or left by a killed writer: nothing else in the folder is ever removed.
_ENTRY = re.compile(r"[0-9a-f]{64}\.json\.gz")
_UNFINISHED = re.compile(r"\.[0-9a-f]{64}\.json\.gz\.[0-9a-f]+\.tmp")
_WRITING_SECONDS = 3600
"""The time after which an unfinished file is taken as abandoned, and written again."""


@dataclass(frozen=True)
class Contents:
    """The contents of the cache."""

    folder: Path
    entries: int
    size_bytes: int


def folder() -> Path:
    """Return the folder: ``$DIFFPROF_CACHE_DIR``, else that of the settings, else the platform's folder for caches."""
    return config.CACHE_DIR


def sweeps_file() -> Path:
    """Return the file with the results of sweeps, next to the profiles; `clear` removes it too."""
    return folder() / "sweeps.sqlite"


def key(model: str, content: bytes, request: Mapping[str, Any]) -> str:
    """Return the key of a profile.

    `content` identifies the model's configuration (a catalogue file, or a `digest_of_folder`), `request` the call
    arguments and switches. The key includes the versions of all libraries that take part in counting, and diffprof's
    own sources, because they change without the version in a development install.
    """
    facts = {
        "model": model,
        "content": hashlib.sha256(content).hexdigest(),
        "request": dict(request),
        "format": FORMAT_VERSION,
        "python": list(sys.version_info[:3]),
        "versions": _versions(),
        "sources": _digest_of_sources(),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def digest_of_folder(model_folder: Path) -> bytes:
    """Return a digest of all configuration and tokenizer files in a folder, with their names, and of weight headers."""
    check_files(model_folder)
    digest = hashlib.sha256()
    for path in sorted(model_files(model_folder)):
        if path.suffix.lower() in TEXT_ENDINGS and path.is_file():
            _add_file(digest, path.relative_to(model_folder).as_posix(), path.read_bytes())
        elif path.suffix.lower() == ".safetensors" and path.is_file():
            _add_file(digest, path.relative_to(model_folder).as_posix(), _header(path))
    return digest.digest()


def digest_of_file(file: Path) -> bytes:
    """Return a digest that identifies a file: its path, size, time and first bytes; the rest is not read."""
    facts = f"{file.resolve()} {file.stat().st_mtime_ns} "
    return hashlib.sha256(facts.encode("utf-8", "surrogateescape") + _header(file)).digest()


def _header(file: Path) -> bytes:
    """Return the size and the first bytes of a weight file."""
    with file.open("rb") as opened:
        return f"{file.stat().st_size} ".encode() + opened.read(HEADER_BYTES)


def read(entry: str) -> Profile | None:
    """Return the profile with this key; None if there is none, or if the file is damaged."""
    path = _path(entry)
    try:
        if not _is_plain_file(path):
            return None
        profile = load(path)
        # The time of the last use, so that used entries stay when the cache is full.
        os.utime(path)
    except (DiffprofError, OSError):
        return None
    return profile


def write(entry: str, profile: Profile) -> bool:
    """Store the profile; return False if the folder is not writable, which must not fail the request itself."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        path = _path(entry)
        if os.path.lexists(path) and not _is_plain_file(path):
            path.unlink()
        save(profile, path)
        _drop_unfinished()
        _drop_oldest()
    except (DiffprofError, OSError):
        return False
    return True


def info() -> Contents:
    """Return the cache's folder, its number of profiles and their size."""
    sizes = [size for _, size, _ in _entries()]
    return Contents(folder(), len(sizes), sum(sizes))


def clear() -> Contents:
    """Remove all cached profiles and the results of sweeps; return the removed profiles."""
    before = info()
    for path in (*_files(), *_files(_UNFINISHED)):
        path.unlink(missing_ok=True)
    for ending in ("", "-wal", "-shm"):
        Path(f"{sweeps_file()}{ending}").unlink(missing_ok=True)
    return before


def _is_plain_file(path: Path) -> bool:
    """Whether it is neither a pipe, which would block, nor a link, which leads out of the cache."""
    return stat.S_ISREG(path.lstat().st_mode)


def _path(entry: str) -> Path:
    return folder() / f"{entry}.json.gz"


def _files(names: re.Pattern[str] = _ENTRY) -> Iterator[Path]:
    """Yield the files of the cache, and other files with such names; folders are never ours."""
    cache_folder = folder()
    if cache_folder.is_dir():
        found = (path for path in cache_folder.iterdir() if names.fullmatch(path.name))
        yield from (path for path in found if path.is_symlink() or not path.is_dir())


def _entries() -> Iterator[tuple[int, int, Path]]:
    """Yield time of last use, size and path of each entry. Entries that another process removes are skipped."""
    for path in _files():
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            yield status.st_mtime_ns, status.st_size, path


def _drop_unfinished() -> None:
    """Remove files of killed writers, but none that another process may be writing."""
    for path in _files(_UNFINISHED):
        with contextlib.suppress(FileNotFoundError):
            if abs(time.time() - path.lstat().st_mtime) > _WRITING_SECONDS:
                path.unlink()


def _drop_oldest() -> None:
    """Remove the oldest entries until the folder is below `MAX_BYTES`."""
    files = sorted(_entries())
    size = sum(entry[1] for entry in files)
    for _, entry_bytes, path in files:
        if size <= MAX_BYTES:
            break
        path.unlink(missing_ok=True)
        size -= entry_bytes


def _versions() -> dict[str, str | None]:
    return {library: _version(library) for library in COUNTING_LIBRARIES}


def _version(library: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def _digest_of_sources() -> str:
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        _add_file(digest, path.relative_to(package).as_posix(), path.read_bytes())
    return digest.hexdigest()


def _add_file(digest: Any, name: str, data: bytes) -> None:
    # Lengths separate the end of one name or file from the start of the next.
    digest.update(f"{len(name)}:{name}:{len(data)}:".encode())
    digest.update(data)
