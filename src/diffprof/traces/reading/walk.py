"""From the text of a trace to its events, a slice of them at a time, and to what else its JSON says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson

from diffprof.errors import FileFormatError
from diffprof.traces.reading.text import text_of

Event = dict[str, Any]

# Small enough to stay in the processor's cache while it is taken apart.
SLICE_CHARACTERS = 1 << 17

# A single value (an event, a list of packages) that is longer is not of a trace that torch.profiler wrote.
LONGEST_VALUE = 1 << 28

# An error that is further than this from the end of what was read so far does not come from having read too little.
LONGEST_STRING = 1 << 22

# The end of one event and the beginning of the next. In a string the quote would have to be escaped, and behind the
# closing quote of a string no letter can stand; so this is never found in a string, at most in a list inside an event.
_BETWEEN_EVENTS = re.compile(r'\}\s*,\s*(?=\{\s*"[A-Za-z])')
_SPACE = re.compile(r"[ \t\n\r]*")


class TraceWalk:
    """The events of a trace in slices (`slices`); after them, `metadata` has the other fields of the file.

    `end_of_events` is the place, in characters, of the bracket that closes the list of events. With `exact`, numbers
    with a fraction come as decimals.
    """

    def __init__(self, path: Path, exact: bool = False) -> None:
        self.path = path
        self.metadata: dict[str, Any] = {}
        self.end_of_events: int | None = None
        self._decoder = json.JSONDecoder(parse_float=Decimal) if exact else json.JSONDecoder()
        # The fast one refuses a little that the other takes; then the other gets its turn, event by event.
        self._decode: Callable[[str], Any] = self._decoder.decode if exact else orjson.loads
        self._pieces = text_of(path)
        self._more = True
        self._text = ""
        self._at = 0
        # How many characters were let go before the first of `_text`.
        self._gone = 0

    def slices(self) -> Iterator[list[Event]]:
        """The events in order, some thousands at a time."""
        opening = self._next_character()
        if opening == "[":
            yield from self._list_of_events()
        elif opening == "{":
            yield from self._fields()
        elif opening:
            raise self._refusal("it is not JSON, and so not a trace of torch.profiler")
        else:
            raise self._refusal("the file is empty")
        if self.end_of_events is None:
            raise self._refusal(_what_else(self.metadata))
        if self._next_character():
            raise self._refusal(f"it goes on after the end of its JSON, at character {self._place:,}")

    def _fields(self) -> Iterator[list[Event]]:
        self._at += 1
        if self._next_character() == "}":
            self._at += 1
            return
        while True:
            key = self._value()
            if not isinstance(key, str) or self._next_character() != ":":
                raise self._damaged("a field has no name")
            self._at += 1
            if key == "traceEvents" and self._next_character() == "[":
                if self.end_of_events is not None:
                    raise self._damaged("there are two lists of traceEvents")
                yield from self._list_of_events()
            else:
                self.metadata[key] = self._value()
            if self._closed_by("}"):
                return

    def _list_of_events(self) -> Iterator[list[Event]]:
        self._at += 1
        if self._next_character() == "]":
            self._at += 1
            self.end_of_events = self._place - 1
            return
        while self.end_of_events is None:
            boundary = self._boundary()
            events = None if boundary is None else self._at_once(boundary)
            if events is None:
                events = self._one_by_one()
            if set(map(type, events)) != {dict}:
                raise self._refusal("its list of events holds something that is no event")
            yield events

    def _boundary(self) -> re.Match[str] | None:
        """The end of the slice; None where none is found before the text ends, or for too long."""
        wanted = 2 * SLICE_CHARACTERS
        while wanted <= LONGEST_VALUE:
            self._fill(wanted)
            found = _BETWEEN_EVENTS.search(self._text, min(self._at + SLICE_CHARACTERS, len(self._text)))
            if found or not self._more:
                return found
            wanted *= 2
        return None

    def _at_once(self, boundary: re.Match[str]) -> list[Event] | None:
        """The events up to the boundary; None when it was not one of this list, or something is damaged before it."""
        try:
            events: list[Event] = self._decode(f"[{self._text[self._at : boundary.start() + 1]}]")
        except (ValueError, RecursionError):
            return None
        self._at = boundary.end()
        return events

    def _one_by_one(self) -> list[Event]:
        """As many events as a slice has, or as there are: slower, but it finds the end and what is damaged."""
        events, until = [], self._place + SLICE_CHARACTERS
        while self._place < until:
            events.append(self._value())
            if self._closed_by("]"):
                self.end_of_events = self._place - 1
                break
        return events

    def _closed_by(self, bracket: str) -> bool:
        """Go past what follows a value: the closing bracket, or the comma before the next one."""
        character = self._next_character()
        if character not in (bracket, ","):
            raise self._damaged(f"a comma or {bracket} is missing") if character else self._cut_off()
        self._at += 1
        return character == bracket

    def _value(self) -> Any:
        """The JSON value that begins here."""
        self._next_character()
        wanted = 1 << 16
        while True:
            self._fill(wanted)
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except RecursionError:
                raise self._damaged("it is nested too deeply") from None
            except json.JSONDecodeError as error:
                if not self._more or error.pos < len(self._text) - LONGEST_STRING:
                    raise self._unreadable(error) from None
                if wanted > LONGEST_VALUE:
                    raise self._refusal(f"one of its values is longer than {LONGEST_VALUE:,} characters") from None
            else:
                # A number at the very end of what was read may go on in the next piece.
                if end < len(self._text) or not self._more:
                    self._at = end
                    return value
            wanted *= 2

    def _next_character(self) -> str:
        """The first character that is no white space, which stays where it is; nothing at the end of the file."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more:
                return ""
            self._fill(1)

    def _fill(self, wanted: int) -> None:
        """Have `wanted` characters or all that are left; those that were dealt with are let go."""
        missing = wanted - (len(self._text) - self._at)
        if missing <= 0 or not self._more:
            return
        pieces = [self._text[self._at :]]
        while missing > 0 and (piece := next(self._pieces, None)) is not None:
            pieces.append(piece)
            missing -= len(piece)
        self._more = missing <= 0
        self._gone += self._at
        self._text, self._at = "".join(pieces), 0

    @property
    def _place(self) -> int:
        return self._gone + self._at

    def _unreadable(self, error: json.JSONDecodeError) -> FileFormatError:
        # A word such as `true` may be cut, too: its error is at its first letter.
        at_the_end = not self._more and error.pos >= len(self._text.rstrip()) - len("false")
        if at_the_end or (not self._more and error.msg.startswith("Unterminated string")):
            return self._cut_off()
        self._at = error.pos
        return self._damaged(error.msg[:1].lower() + error.msg[1:])

    def _cut_off(self) -> FileFormatError:
        return self._refusal("the file ends in the middle of its JSON; copy or record it again")

    def _damaged(self, why: str) -> FileFormatError:
        return self._refusal(f"its JSON is damaged at character {self._place:,} ({why})")

    def _refusal(self, why: str) -> FileFormatError:
        return FileFormatError(f"Cannot read {self.path}: {why}.")


def _what_else(metadata: dict[str, Any]) -> str:
    """What a file is that has no list of events."""
    form = metadata.get("format")
    if isinstance(form, dict) and str(form.get("name")).startswith("diffprof-"):
        return "it is a saved profile, not a trace; `diffprof show` prints it"
    return "it is JSON, but not a trace: it has no list of traceEvents"
