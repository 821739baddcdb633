"""Read pickles that contain only plain containers, strings and numbers, and refuse all others.

Unpickling runs any code that a file names. This reader supports only the instructions that build dictionaries, lists,
tuples and plain values: a file that names a class or calls a function is refused.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from sys import getsizeof
from typing import Any

from diffprof.errors import FileFormatError, FileProblem

LARGEST_FILE = 512 * 1024**2
MAX_INSTRUCTIONS = 40_000_000
"""A snapshot of 200,000 allocations, which is what `diffprof run` records, has about 14 million."""
MAX_BYTES = 10**9
"""The limit for values in memory: an empty list is one byte in a file, but sixty in memory."""
POINTER_BYTES, ENTRY_BYTES = 8, 50
"""Of a place in a list, and of a key or value in a dictionary with the room that it keeps free."""
LONGEST_NUMBER = 64
"""The most bytes of an integer; an address has 8."""


def read_plain_pickle(path: Path) -> Any:
    """Read the value of a file; a `FileFormatError` if it is not plain, or damaged."""
    try:
        if not path.is_file():
            problem = FileProblem.folder if path.is_dir() else FileProblem.missing
            raise FileFormatError(f"{path} is not a file.", problem)
        if path.stat().st_size > LARGEST_FILE:
            raise _size_error(path)
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise FileFormatError(f"Cannot read {path}: {error.strerror}.", FileProblem.unreadable) from error
    if content[:1] in (b"{", b"["):
        raise FileFormatError(f"{path} is JSON, not a memory snapshot, which is a pickle.", FileProblem.other_format)
    try:
        return PlainReader(content).read()
    except TooLarge as error:
        raise _size_error(path) from error
    except (IndexError, KeyError, struct.error, ValueError, TypeError, RecursionError) as error:
        raise FileFormatError(f"{path} is not a memory snapshot, or it is damaged.", FileProblem.damaged) from error
    except ForbiddenInstruction as error:
        raise FileFormatError(
            f"{path} is not read: it is a pickle with the instruction {error}, which a memory snapshot does not need "
            "and which could run code.",
            FileProblem.other_format,
        ) from error


def _size_error(path: Path) -> FileFormatError:
    return FileFormatError(
        f"{path} is larger than any memory snapshot that is read; record fewer allocations (max_entries).",
        FileProblem.other_format,
    )


class TooLarge(Exception):
    """The values would take more memory or time than any snapshot needs."""


class ForbiddenInstruction(Exception):
    """An instruction that does more than build plain containers."""


class _Mark:
    """Marks the start of a container on the stack."""


MARK = _Mark()


class PlainReader:
    """Executes the instructions of one pickle."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._held_bytes = 0

    def read(self) -> Any:
        """Execute all instructions, and return the value."""
        for _ in range(MAX_INSTRUCTIONS):
            code = self._content[self._at]
            self._at += 1
            if code == STOP:
                (value,) = self._stack
                return value
            instruction = INSTRUCTIONS.get(code)
            if instruction is None:
                raise ForbiddenInstruction(NAMES.get(code, hex(code)))
            instruction(self)
            if self._held_bytes > MAX_BYTES:
                raise TooLarge
        raise TooLarge

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._content):
            raise ValueError("the file ends too early")
        taken, self._at = self._content[self._at : end], end
        return taken

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self) -> str:
        end = self._content.index(b"\n", self._at)
        line = self._content[self._at : end].decode("ascii")
        self._at = end + 1
        return line

    def _since_mark(self) -> list[Any]:
        stack = self._stack
        place = len(stack) - 1
        while stack[place] is not MARK:
            place -= 1
            if place < 0:
                raise ValueError("a container has no beginning")
        values = stack[place + 1 :]
        del stack[place:]
        return values

    def push(self, value: Any) -> None:
        self._stack.append(value)
        self._held_bytes += getsizeof(value) + POINTER_BYTES

    def push_number(self, form: str) -> None:
        self.push(self._number(form))

    def push_text(self, form: str) -> None:
        self.push(self._take(self._number(form)).decode("utf-8", "surrogatepass"))

    def push_bytes(self, form: str) -> None:
        self.push(self._take(self._number(form)))

    def push_long(self, form: str) -> None:
        size = self._number(form)
        if size > LONGEST_NUMBER:
            raise ValueError("a number is too long")
        self.push(int.from_bytes(self._take(size), "little", signed=True))

    def push_line_of_number(self) -> None:
        line = self._line().removesuffix("L")
        if len(line) > LONGEST_NUMBER:
            raise ValueError("a number is too long")
        self._stack.append({"00": False, "01": True}[line] if line in ("00", "01") else int(line))

    def push_line_of_fraction(self) -> None:
        self._stack.append(float(self._line()))

    def push_line_of_text(self) -> None:
        self.push(self._line().encode("ascii").decode("raw_unicode_escape"))

    def collect(self, kind: Callable[[list[Any]], Any]) -> None:
        values = self._since_mark()
        self.push(kind(values))

    def collect_last(self, size: int) -> None:
        values = tuple(self._stack[-size:])
        if len(values) < size or MARK in values:
            raise ValueError("a tuple has too few values")
        del self._stack[-size:]
        self.push(values)

    def extend(self, values: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not list:
            raise ValueError("values are added to what is no list")
        target.extend(values)
        self._held_bytes += POINTER_BYTES * len(values)

    def set_items(self, values: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not dict or len(values) % 2:
            raise ValueError("entries are added to what is no dictionary")
        target.update(_pairs(values))
        self._held_bytes += ENTRY_BYTES * len(values)

    def remember(self, number: int) -> None:
        self._memo[number] = self._stack[-1]
        self._held_bytes += ENTRY_BYTES

    def recall(self, number: int) -> None:
        self._stack.append(self._memo[number])
        self._held_bytes += POINTER_BYTES


def _pairs(values: list[Any]) -> dict[str | int, Any]:
    """A dictionary. Keys are checked before they are hashed, because hashing nested tuples can take forever."""
    if any(type(key) not in (str, int) for key in values[::2]):
        raise ValueError("a key is neither a text nor a number")
    return dict(zip(values[::2], values[1::2], strict=True))


Instruction = Callable[[PlainReader], object]

INSTRUCTIONS: dict[int, Instruction] = {
    code[0]: instruction
    for code, instruction in (
        (pickle.PROTO, lambda reader: reader._take(1)),
        (pickle.FRAME, lambda reader: reader._take(8)),
        (pickle.MARK, lambda reader: reader.push(MARK)),
        (pickle.POP, lambda reader: reader._stack.pop()),
        (pickle.POP_MARK, lambda reader: reader._since_mark()),
        (pickle.NONE, lambda reader: reader.push(None)),
        (pickle.NEWTRUE, lambda reader: reader.push(True)),
        (pickle.NEWFALSE, lambda reader: reader.push(False)),
        (pickle.BININT, lambda reader: reader.push_number("<i")),
        (pickle.BININT1, lambda reader: reader.push_number("<B")),
        (pickle.BININT2, lambda reader: reader.push_number("<H")),
        (pickle.LONG1, lambda reader: reader.push_long("<B")),
        (pickle.LONG4, lambda reader: reader.push_long("<i")),
        (pickle.INT, lambda reader: reader.push_line_of_number()),
        (pickle.LONG, lambda reader: reader.push_line_of_number()),
        (pickle.FLOAT, lambda reader: reader.push_line_of_fraction()),
        (pickle.BINFLOAT, lambda reader: reader.push_number(">d")),
        (pickle.UNICODE, lambda reader: reader.push_line_of_text()),
        (pickle.BINUNICODE, lambda reader: reader.push_text("<I")),
        (pickle.SHORT_BINUNICODE, lambda reader: reader.push_text("<B")),
        (pickle.BINUNICODE8, lambda reader: reader.push_text("<Q")),
        (pickle.BINBYTES, lambda reader: reader.push_bytes("<I")),
        (pickle.SHORT_BINBYTES, lambda reader: reader.push_bytes("<B")),
        (pickle.BINBYTES8, lambda reader: reader.push_bytes("<Q")),
        (pickle.EMPTY_DICT, lambda reader: reader.push({})),
        (pickle.EMPTY_LIST, lambda reader: reader.push([])),
        (pickle.EMPTY_TUPLE, lambda reader: reader.push(())),
        (pickle.DICT, lambda reader: reader.collect(_pairs)),
        (pickle.LIST, lambda reader: reader.collect(list)),
        (pickle.TUPLE, lambda reader: reader.collect(tuple)),
        (pickle.TUPLE1, lambda reader: reader.collect_last(1)),
        (pickle.TUPLE2, lambda reader: reader.collect_last(2)),
        (pickle.TUPLE3, lambda reader: reader.collect_last(3)),
        (pickle.APPEND, lambda reader: reader.extend([reader._stack.pop()])),
        (pickle.APPENDS, lambda reader: reader.extend(reader._since_mark())),
        (pickle.SETITEM, lambda reader: reader.set_items([reader._stack.pop(-2), reader._stack.pop()])),
        (pickle.SETITEMS, lambda reader: reader.set_items(reader._since_mark())),
        (pickle.MEMOIZE, lambda reader: reader.remember(len(reader._memo))),
        (pickle.BINPUT, lambda reader: reader.remember(reader._number("<B"))),
        (pickle.LONG_BINPUT, lambda reader: reader.remember(reader._number("<I"))),
        (pickle.PUT, lambda reader: reader.remember(int(reader._line()))),
        (pickle.BINGET, lambda reader: reader.recall(reader._number("<B"))),
        (pickle.LONG_BINGET, lambda reader: reader.recall(reader._number("<I"))),
        (pickle.GET, lambda reader: reader.recall(int(reader._line()))),
    )
}
STOP = pickle.STOP[0]
NAMES = {
    value[0]: name
    for name, value in vars(pickle).items()
    if name.isupper() and isinstance(value, bytes) and len(value) == 1
}
