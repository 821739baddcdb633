"""Watches one process: what it opens, writes, imports, starts and connects to while a case runs."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import diffprof

NETWORK = (
    "socket.connect",
    "socket.getaddrinfo",
    "socket.sendto",
    "socket.bind",
    "urllib.Request",
    "http.client.connect",
)
PROCESSES = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "os.forkpty",
    "pty.spawn",
)
CHANGES = (
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.truncate",
    "os.chmod",
    "os.chown",
    "os.link",
    "os.symlink",
    "os.utime",
    "os.setxattr",
    "shutil.rmtree",
)
LISTINGS = ("os.listdir", "os.scandir")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

HEARD = frozenset(
    {
        *NETWORK,
        *PROCESSES,
        *CHANGES,
        *LISTINGS,
        "open",
        "sqlite3.connect",
        "import",
        "exec",
        "compile",
        "pickle.find_class",
    }
)
"""Python tells of far more, such as every attribute of a function that is read."""

CANARY = "canary_module"
"""A module that can be imported and that nothing but a file of ours names."""


DATABASE_OUTSIDE = "opens a database outside"


class Watch:
    """Notes everything that a file from outside must not make us do."""

    def __init__(self, *folders: Path, readable: Sequence[Path] = (), secrets: Sequence[Path] = ()) -> None:
        """`folders` may be read and written: the case's own files and what commands write; not `secrets` in them."""
        self.own = _beginnings(folders)
        self.readable = _beginnings(readable)
        self.secrets = _beginnings(secrets)
        self.code = tuple(f"{place}{os.sep}" for place in _code_folders())
        self.found: list[str] = []
        self.is_on = False
        sys.addaudithook(self._hear)

    @contextmanager
    def case(self) -> Iterator[list[str]]:
        """While a case runs; gives what is found."""
        self.found = []
        self.is_on = True
        try:
            yield self.found
        finally:
            self.is_on = False

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on or event not in HEARD:
            return
        self.is_on = False  # what is done here is not part of the case
        try:
            self._judge(event, arguments)
        finally:
            self.is_on = True

    def _judge(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self._judge_open(arguments[0], arguments[2])
        elif event in LISTINGS:
            place = "." if arguments[0] is None else arguments[0]
            if place not in sys.path:  # where imports look
                self._judge_open(place, os.O_RDONLY)
        elif event == "sqlite3.connect":
            self._judge_database(os.fsdecode(arguments[0]))
        elif event in NETWORK or event in PROCESSES:
            self.found.append(f"{event} {arguments!r:.200}")
        elif event in CHANGES:
            for place in arguments[:2]:
                if isinstance(place, str | bytes | os.PathLike) and not self._is_own(place):
                    self.found.append(f"{event} outside: {place!r:.200}")
        elif event == "import" and str(arguments[0]).split(".")[0] == CANARY:
            self.found.append(f"foreign import of {arguments[0]}")
        elif event in ("exec", "compile"):
            name = getattr(arguments[0], "co_filename", None) if event == "exec" else arguments[1]
            if isinstance(name, str) and name.startswith(self.own):
                self.found.append(f"code of the case is run: {name}")
        elif event == "pickle.find_class":
            self.found.append(f"pickle asks for {arguments!r:.200}")

    def _judge_open(self, place: Any, flags: Any) -> None:
        if not isinstance(place, str | bytes | os.PathLike) or place in ("/dev/null", b"/dev/null"):
            return
        is_written = isinstance(flags, int) and bool(flags & WRITING)
        if self._is_own(place):
            return
        path = os.path.normpath(Path(os.fsdecode(place)).absolute())
        if is_written:
            self.found.append(f"writes outside: {path:.200}")
        elif not f"{path}{os.sep}".startswith((*self.code, *self.readable, *SYSTEM)) and Path(path).exists():
            self.found.append(f"reads outside: {path:.200}")

    def _judge_database(self, name: str) -> None:
        """SQLite opens its file by itself, and Python is told of the name only."""
        path = unquote(name.removeprefix("file:").partition("?")[0]) if name.startswith("file:") else name
        if path not in ("", ":memory:") and not self._is_own(path):
            self.found.append(f"{DATABASE_OUTSIDE}: {path:.200}")

    def _is_own(self, place: Any) -> bool:
        path = f"{os.path.normpath(Path(os.fsdecode(place)).absolute())}{os.sep}"
        # Links inside of the case's folder point where the case wants them to; that is read as the user's own choice.
        return path.startswith(self.own) and not path.startswith(self.secrets)


def _beginnings(folders: Sequence[Path]) -> tuple[str, ...]:
    return tuple(f"{folder.resolve()}{os.sep}" for folder in folders)


SYSTEM = ("/proc/", "/sys/", "/dev/urandom", "/etc/localtime", "/etc/mime", "/usr/share/zoneinfo", "/usr/share/mime")


def _code_folders() -> list[str]:
    places = [sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    places += [str(Path(diffprof.__file__).parent), str(Path(__file__).parent), "/usr/lib", "/lib", "/usr/share/fonts"]
    places += [place for place in sys.path if place.endswith(("site-packages", "dist-packages"))]
    return sorted({form for place in places for form in (str(Path(place).absolute()), str(Path(place).resolve()))})
