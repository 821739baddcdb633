"""Parse the text of a trace into events, a slice at a time, and into the other fields of its JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson

from diffprof.errors import FileFormatError
from diffprof.traces.reading.text import byte_length, escape_invalid_bytes, read_text

Event = dict[str, Any]

# Small enough to stay in the processor's cache while it is parsed.
SLICE_CHARACTERS = 1 << 17

# torch.profiler never writes a single value (an event, a list of packages) that is longer.
# Twice as much is read before it is refused, which takes 1 GB where it is all empty lists.
LONGEST_VALUE = 1 << 24

# An error that is further than this from the end of the text read so far is not caused by having read too little.
LONGEST_STRING = 1 << 22

# The end of one event and the beginning of the next. In a string the quote would have to be escaped, and behind the
# closing quote of a string no letter can stand; so this is never found in a string, at most in a list inside an event.
_BETWEEN_EVENTS = re.compile(r'\}\s*,\s*(?=\{\s*"[A-Za-z])')
_SPACE = re.compile(r"[ \t\n\r]*")
BYTE_ORDER_MARK = "\ufeff"


class TraceWalk:
    """One walk through a trace: its events in slices (`slices`), then the other fields of the file (`metadata`).

    `end_of_events` is the offset, in decompressed bytes, of the bracket that closes the list of events.
    `invalid_bytes` is the number of bytes that are not valid UTF-8. With `exact`, fractions are parsed as decimals.
    """

    def __init__(self, path: Path, exact: bool = False) -> None:
        self.path = path
        self.metadata: dict[str, Any] = {}
        self.end_of_events: int | None = None
        self.invalid_bytes = 0
        self._decoder = json.JSONDecoder(parse_float=Decimal) if exact else json.JSONDecoder()
        # orjson is faster and rejects a little that the standard library accepts, which then parses event by event.
        self._parse: Callable[[str], Any] = self._decoder.decode if exact else orjson.loads
        self._chunks = read_text(path)
        self._has_more = True
        # Chrome's format lets a file that is nothing but a list of events end without the bracket.
        self._may_stay_open = False
        self._text = ""
        self._position = 0
        # The number of characters and bytes that were dropped before the first character of `_text`.
        self._dropped_characters = 0
        self._dropped_bytes = 0

    def slices(self) -> Iterator[list[Event]]:
        """Yield the events in order, some thousands at a time."""
        opening = self._next_character()
        if opening == BYTE_ORDER_MARK:
            self._position += 1
            opening = self._next_character()
        if opening == "[":
            self._may_stay_open = True
            yield from self._event_list()
        elif opening == "{":
            yield from self._fields()
        elif opening:
            raise self._error("it is not JSON, and so not a trace of torch.profiler")
        else:
            raise self._error("the file is empty")
        if self.end_of_events is None:
            raise self._error(_reason_without_events(self.metadata))
        if self._next_character() and not self._ends_open():
            raise self._error(f"it goes on after the end of its JSON, at character {self._character:,}")

    def _fields(self) -> Iterator[list[Event]]:
        self._position += 1
        if self._next_character() == "}":
            self._position += 1
            return
        while True:
            key = self._value()
            if not isinstance(key, str) or self._next_character() != ":":
                raise self._damage_error("a field has no name")
            self._position += 1
            if key == "traceEvents" and self._next_character() == "[":
                if self.end_of_events is not None:
                    raise self._damage_error("there are two lists of traceEvents")
                yield from self._event_list()
            else:
                self.metadata[key] = self._value()
            if self._skip_separator("}"):
                return

    def _event_list(self) -> Iterator[list[Event]]:
        self._position += 1
        if self._next_character() == "]":
            self._end_event_list()
            self._position += 1
            return
        while self.end_of_events is None:
            boundary = self._find_boundary()
            events = None if boundary is None else self._parse_slice(boundary)
            if events is None:
                events = self._parse_one_by_one()
            if set(map(type, events)) != {dict}:
                raise self._error("its list of events contains something that is not an event")
            yield events

    def _end_event_list(self) -> None:
        """Record the position of the bracket that closes the list of events."""
        self.end_of_events = self._dropped_bytes + byte_length(self._text[: self._position])

    def _find_boundary(self) -> re.Match[str] | None:
        """The end of the slice; None if there is none before the text ends, or for too long."""
        length = 2 * SLICE_CHARACTERS
        while length <= LONGEST_VALUE:
            self._fill(length)
            boundary = _BETWEEN_EVENTS.search(self._text, min(self._position + SLICE_CHARACTERS, len(self._text)))
            if boundary or not self._has_more:
                return boundary
            length *= 2
        return None

    def _parse_slice(self, boundary: re.Match[str]) -> list[Event] | None:
        """The events up to the boundary; None if it lies inside an event, or something before it is damaged."""
        text, invalid_bytes = escape_invalid_bytes(self._text[self._position : boundary.start() + 1])
        try:
            events: list[Event] = self._parse(f"[{text}]")
        except (ValueError, RecursionError):
            return None
        self.invalid_bytes += invalid_bytes
        self._position = boundary.end()
        return events

    def _parse_one_by_one(self) -> list[Event]:
        """As many events as a slice has, or as there are: slower, but it finds the end and the damage."""
        events, until = [], self._character + SLICE_CHARACTERS
        while self._character < until:
            events.append(self._value())
            if self._next_character() == "]" or self._ends_open():
                self._end_event_list()
            if self._ends_open() or self._skip_separator("]"):
                break
        return events

    def _ends_open(self) -> bool:
        """Whether the list of events ends here with the file, perhaps after one more comma, and may do so."""
        if not self._may_stay_open:
            return False
        if self._next_character() == ",":
            self._fill(2)
            return not self._has_more and not self._text[self._position + 1 :].strip(" \t\n\r")
        return not self._next_character()

    def _skip_separator(self, bracket: str) -> bool:
        """Skip what follows a value: True for the closing bracket, False for a comma before the next value."""
        character = self._next_character()
        if character not in (bracket, ","):
            raise self._damage_error(f"a comma or {bracket} is missing") if character else self._truncation_error()
        self._position += 1
        return character == bracket

    def _value(self) -> Any:
        """The JSON value that begins here."""
        self._next_character()
        length = 1 << 16
        while True:
            self._fill(length)
            try:
                value, end = self._decoder.raw_decode(self._text, self._position)
            except RecursionError:
                raise self._damage_error("it is nested too deeply") from None
            except json.JSONDecodeError as error:
                if not self._has_more or error.pos < len(self._text) - LONGEST_STRING:
                    raise self._syntax_error(error) from None
                if length > LONGEST_VALUE:
                    raise self._error(f"one of its values is longer than {LONGEST_VALUE:,} characters") from None
            else:
                # A number at the very end of the text read so far may go on in the next chunk.
                if end < len(self._text) or not self._has_more:
                    text, invalid_bytes = escape_invalid_bytes(self._text[self._position : end])
                    self.invalid_bytes += invalid_bytes
                    self._position = end
                    return self._decoder.decode(text) if invalid_bytes else value
            length *= 2

    def _next_character(self) -> str:
        """The next character that is not white space, which is not consumed; empty at the end of the file."""
        while True:
            space = _SPACE.match(self._text, self._position)
            self._position = space.end() if space else self._position
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._has_more:
                return ""
            self._fill(1)

    def _fill(self, length: int) -> None:
        """Make `_text` hold `length` characters, or all that are left, and drop consumed ones."""
        missing = length - (len(self._text) - self._position)
        if missing <= 0 or not self._has_more:
            return
        chunks = [self._text[self._position :]]
        while missing > 0 and (chunk := next(self._chunks, None)) is not None:
            chunks.append(chunk)
            missing -= len(chunk)
        self._has_more = missing <= 0
        self._dropped_characters += self._position
        self._dropped_bytes += byte_length(self._text[: self._position])
        self._text, self._position = "".join(chunks), 0

    @property
    def _character(self) -> int:
        """The current position in the text of the file."""
        return self._dropped_characters + self._position

    def _syntax_error(self, error: json.JSONDecodeError) -> FileFormatError:
        # A word such as `true` may be cut, too: its error is at its first letter.
        at_the_end = not self._has_more and error.pos >= len(self._text.rstrip()) - len("false")
        if at_the_end or (not self._has_more and error.msg.startswith("Unterminated string")):
            return self._truncation_error()
        self._position = error.pos
        return self._damage_error(error.msg[:1].lower() + error.msg[1:])

    def _truncation_error(self) -> FileFormatError:
        return self._error("the file ends in the middle of its JSON; copy or record it again")

    def _damage_error(self, reason: str) -> FileFormatError:
        return self._error(f"its JSON is damaged at character {self._character:,} ({reason})")

    def _error(self, reason: str) -> FileFormatError:
        return FileFormatError(f"Cannot read {self.path}: {reason}.")


def _reason_without_events(metadata: dict[str, Any]) -> str:
    """Why a file that has no list of events is not a trace."""
    form = metadata.get("format")
    if isinstance(form, dict) and str(form.get("name")).startswith("diffprof-"):
        return "it is a saved profile, not a trace; `diffprof show` prints it"
    return "it is JSON, but not a trace: it has no list of traceEvents"
