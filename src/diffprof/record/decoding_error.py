"""`DecodingError`: a value in a file that does not fit its field."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from diffprof.errors import FileFormatError


class DecodingError(Exception):
    """A value that does not fit its field; each container adds its own name to the path on the way up."""

    def __init__(self, message: str, place: str = "", row: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.row = row

    def inside(self, name: str | int) -> DecodingError:
        """The same, one step further out: inside the field of this name, or the item of this number."""
        outer = f"[{name}]" if isinstance(name, int) else name
        self.place = f"{outer}{'.' if self.place and not self.place.startswith('[') else ''}{self.place}"
        return self

    def when_reading(self) -> FileFormatError:
        """The error for a file that was a profile once."""
        return FileFormatError(f"The profile is damaged: {self._sentence()}.")

    def when_writing(self) -> FileFormatError:
        """The error for a profile that JSON cannot hold."""
        return FileFormatError(f"The profile cannot be saved: {self._sentence()}.")

    def _sentence(self) -> str:
        row = "" if self.row is None else f"row {self.row} of "
        return f"{row}{self.place or 'the file'} {self.message}"


@contextmanager
def inside(*names: str | int) -> Iterator[None]:
    """What does not fit in here stands inside these fields and items, the outermost first."""
    try:
        yield
    except DecodingError as error:
        for name in reversed(names):
            error.inside(name)
        raise
