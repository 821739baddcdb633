"""`DecodingError`: a value in a file does not fit its field."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from diffprof.errors import FileFormatError


class DecodingError(Exception):
    """A value does not fit its field; each enclosing container adds its name to the path."""

    def __init__(self, message: str, place: str = "", row: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.row = row

    def inside(self, name: str | int) -> DecodingError:
        """Return the error with the enclosing field or item added to its path."""
        outer = f"[{name}]" if isinstance(name, int) else name
        self.place = f"{outer}{'.' if self.place and not self.place.startswith('[') else ''}{self.place}"
        return self

    def when_reading(self) -> FileFormatError:
        """Return the error for a file that was a profile."""
        return FileFormatError(f"The profile is damaged: {self._sentence()}.")

    def when_writing(self) -> FileFormatError:
        """Return the error for a profile that cannot be written as JSON."""
        return FileFormatError(f"The profile cannot be saved: {self._sentence()}.")

    def _sentence(self) -> str:
        row = "" if self.row is None else f"row {self.row} of "
        return f"{row}{self.place or 'the file'} {self.message}"


@contextmanager
def inside(*names: str | int) -> Iterator[None]:
    """Add these fields and items, the outermost first, to the path of errors inside the block."""
    try:
        yield
    except DecodingError as error:
        for name in reversed(names):
            error.inside(name)
        raise
