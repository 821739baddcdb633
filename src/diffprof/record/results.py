"""Results of `fit`, `predict` and `advise` as files: a versioned JSON format for each, as ``--json`` prints it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from diffprof.errors import FileFormatError
from diffprof.record.atomic_files import replace_file
from diffprof.record.bounded_json import parse_json
from diffprof.record.decoding_error import DecodingError
from diffprof.record.display import Displayed, find_function

MAX_FILE_BYTES = 64 * 1024 * 1024

Own = TypeVar("Own", bound="Result")


class Result(Displayed):
    """A record that is saved, read and shown like a profile."""

    format_name = ""
    format_version = 1
    """1: the first version of each; docs/memory.md, docs/prediction.md and docs/advice.md describe them."""
    added_fields = ("request", "execution")
    """Fields that were added later; files without them can be read."""
    command = ""
    """The command that makes such a file."""
    page = ""
    """The function that makes its page."""

    def to_dict(self) -> dict[str, Any]:
        """Return the values of the saved file."""
        from diffprof.record.codec import RecordCodec

        form = {"name": self.format_name, "version": self.format_version}
        return {"format": form, **RecordCodec(type(self)).encode(self)}

    def to_json(self) -> str:
        """Return the text that `save` writes."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write it to a JSON file; an existing file is replaced atomically."""
        return replace_file(path, self.to_json().encode())

    @classmethod
    def load(cls: type[Own], path: str | Path) -> Own:
        """Read what `save` wrote; a `FileFormatError` says in one sentence why a file is not valid."""
        from diffprof.record.codec import RecordCodec

        values = _read(Path(path), cls)
        try:
            result = cast(Own, RecordCodec(cls).decode(values))
        except DecodingError as error:
            raise FileFormatError(f"{path}: {error.when_reading()}") from None
        for problem in result.problems():
            raise FileFormatError(f"{path}: {problem}.")
        return result

    def problems(self) -> Iterator[str]:
        """Yield problems with values that are well-formed but invalid."""
        yield from ()

    def report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page with a chart."""
        return replace_file(path, self.to_html().encode())

    def to_html(self) -> str:
        """Return the page that `report` writes."""
        return str(find_function(self.page)(self))


def unknown_words(name: str, words: Iterable[str], known: Sequence[str]) -> Iterator[str]:
    """Yield a problem for each word of a field that is not one of the `known` words."""
    return (f"{name} must be one of {', '.join(known)}, not {word!r:.80}" for word in words if word not in known)


def _read(path: Path, kind: type[Result]) -> Any:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise FileFormatError(f"Cannot read {path}: it is larger than any file of `{kind.command}`.")
        values = parse_json(data)
    except OSError as error:
        raise FileFormatError(f"Cannot read {path}: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"Cannot read {path}: it is not valid JSON.") from error
    form = values.get("format") if isinstance(values, dict) else None
    known = {"name": kind.format_name, "version": kind.format_version}
    if not isinstance(form, dict) or {name: form.get(name) for name in known} != known:
        raise FileFormatError(f"{path} is not a file of `{kind.command}`; make one with `{kind.command} -o FILE.json`.")
    return values
