"""Profiles cached on disk, each under a key made from all that it depends on; reading one needs no torch."""

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
"""What is read of a weight file to tell it from another; its whole header, for most."""
COUNTING_LIBRARIES = ("diffprof", "torch", "diffusers", "transformers")

# Files of the cache, complete or left by a killed writer: nothing else in the folder is ever removed.
_ENTRY = re.compile(r"[0-9a-f]{64}\.json\.gz")
_UNFINISHED = re.compile(r"\.[0-9a-f]{64}\.json\.gz\.[0-9a-f]+\.tmp")
_WRITING_SECONDS = 3600
"""Whoever wrote for longer was killed, or its clock was set back: then its file is written again."""


@dataclass(frozen=True)
class Contents:
    """What the cache holds."""

    folder: Path
    entries: int
    size_bytes: int


def folder() -> Path:
    """The folder: ``$DIFFPROF_CACHE_DIR``, else as the settings say, else the platform's folder for caches."""
    return config.CACHE_DIR


def sweeps_file() -> Path:
    """The answers of sweeps, next to the profiles; `clear` removes it too."""
    return folder() / "sweeps.sqlite"


def key(model: str, content: bytes, request: Mapping[str, Any]) -> str:
    """The key of a profile.

    `content` stands for the model's configuration (a catalogue file, or a `digest_of_folder`), `request` for the call
    arguments and switches. The versions of all that takes part in counting belong to it, and so do diffprof's own
    sources: with a development install, the version stays while the code changes.
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
    """A digest of every configuration and tokenizer file below the folder, names included; of weights, the headers."""
    check_files(model_folder)
    digest = hashlib.sha256()
    for path in sorted(model_files(model_folder)):
        if path.suffix.lower() in TEXT_ENDINGS and path.is_file():
            _add_file(digest, path.relative_to(model_folder).as_posix(), path.read_bytes())
        elif path.suffix.lower() == ".safetensors" and path.is_file():
            _add_file(digest, path.relative_to(model_folder).as_posix(), _header(path))
    return digest.digest()


def digest_of_file(file: Path) -> bytes:
    """A digest of which file this is: its place, length and last change, and how it begins; the rest is not read."""
    facts = f"{file.resolve()} {file.stat().st_mtime_ns} "
    return hashlib.sha256(facts.encode("utf-8", "surrogateescape") + _header(file)).digest()


def _header(file: Path) -> bytes:
    """The length of a weight file and how it begins."""
    with file.open("rb") as opened:
        return f"{file.stat().st_size} ".encode() + opened.read(HEADER_BYTES)


def read(entry: str) -> Profile | None:
    """The profile kept under the key, or None; a damaged file counts as none and will be written again."""
    path = _path(entry)
    try:
        if not _is_plain_file(path):
            return None
        profile = load(path)
        # The order of use, so that what is used stays when the cache is full.
        os.utime(path)
    except (DiffprofError, OSError):
        return None
    return profile


def write(entry: str, profile: Profile) -> bool:
    """Keep the profile; False when the folder cannot be written, which must not fail the profile itself."""
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
    """Where the cache is, how many profiles it holds and what they take."""
    sizes = [size for _, size, _ in _entries()]
    return Contents(folder(), len(sizes), sum(sizes))


def clear() -> Contents:
    """Remove every cached profile, and the answers of sweeps; returns which profiles were removed."""
    before = info()
    for path in (*_files(), *_files(_UNFINISHED)):
        path.unlink(missing_ok=True)
    for ending in ("", "-wal", "-shm"):
        Path(f"{sweeps_file()}{ending}").unlink(missing_ok=True)
    return before


def _is_plain_file(path: Path) -> bool:
    """Not a pipe, which would be waited for, nor a link, which leads out of the cache."""
    return stat.S_ISREG(path.lstat().st_mode)


def _path(entry: str) -> Path:
    return folder() / f"{entry}.json.gz"


def _files(names: re.Pattern[str] = _ENTRY) -> Iterator[Path]:
    """The files of the cache, and what else has the name of one; a folder is never ours."""
    cache_folder = folder()
    if cache_folder.is_dir():
        found = (path for path in cache_folder.iterdir() if names.fullmatch(path.name))
        yield from (path for path in found if path.is_symlink() or not path.is_dir())


def _entries() -> Iterator[tuple[int, int, Path]]:
    """Time of the last use, size and path of each entry. Another process may drop some: a file that is gone is fine."""
    for path in _files():
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            yield status.st_mtime_ns, status.st_size, path


def _drop_unfinished() -> None:
    """Remove what killed writers left behind, and nothing that another process may be writing."""
    for path in _files(_UNFINISHED):
        with contextlib.suppress(FileNotFoundError):
            if abs(time.time() - path.lstat().st_mtime) > _WRITING_SECONDS:
                path.unlink()


def _drop_oldest() -> None:
    """Keep the folder below `MAX_BYTES`."""
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
    # Lengths keep apart what plain joining would mix: the end of one name or file and the start of the next.
    digest.update(f"{len(name)}:{name}:{len(data)}:".encode())
    digest.update(data)
