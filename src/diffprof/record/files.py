"""Read and write profiles as files: a versioned JSON format, exact integers, readable without torch."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any, NoReturn

from diffprof.errors import FileFormatError, FileProblem
from diffprof.record.atomic_files import replace_file
from diffprof.record.bounded_json import parse_json
from diffprof.record.document import decode_profile, encode_profile
from diffprof.record.profile import Profile
from diffprof.record.version_1 import upgrade

FORMAT_NAME = "diffprof-profile"
ANSWERS = {"diffprof-advice": "advise", "diffprof-fit": "fit", "diffprof-prediction": "predict"}
"""The commands that write other files of diffprof, by format name."""

# History of the format; docs/profile.schema.json describes the newest version.
#
# 3: Fields that version 2 does not have, each with a default for files that lack it: `ADDED` in codec.py lists them.
# 2: Shapes are lists of whole numbers instead of text: the `inputs` of calls, with dtypes, and the columns `inputs` and
#    `outputs` of operations, which had one column `shapes`. `resized` and `computed_size` say what two sentences among
#    the assumptions said, and `mismatches` of `measured` what a note said. A component names its `slot`. Tables have
#    their columns in the order of the records' fields.
# 1: The first. A profile of real runs has the key `measured` besides; files without it and with it are version 1.
FORMAT_VERSION = 3

# A file is untrusted: a few kilobytes of gzip can expand to terabytes.
MAX_FILE_BYTES = 1 << 27

_GZIP_MAGIC = b"\x1f\x8b"


def save(profile: Profile, path: str | Path) -> Path:
    """Write the profile to `path` atomically, compressed if the name ends in ``.gz``; replaces an existing file."""
    data = dumps(profile).encode()
    if str(path).lower().endswith(".gz"):
        data = compress(data)
    return replace_file(path, data)


def load(path: str | Path, most_bytes: int = MAX_FILE_BYTES, shown_as: str | None = None) -> Profile:
    """Read a profile that `save` wrote; a `FileFormatError` says in one sentence why a file is not one.

    Errors call the file `shown_as`, by default its path.
    """
    name = str(path) if shown_as is None else shown_as
    try:
        values = parse_json(_read(Path(path), most_bytes), parse_constant=_refuse_constant)
    except OSError as error:
        raise FileFormatError(f"Cannot read {name}: {error.strerror or error}.", _problem(error)) from error
    except EOFError as error:
        raise FileFormatError(f"Cannot read {name}: the compressed file ends too early.") from error
    except RecursionError as error:
        raise FileFormatError(f"Cannot read {name}: it is not a diffprof profile.") from error
    except UnicodeDecodeError as error:
        message = f"Cannot read {name}: it is not JSON."
        raise FileFormatError(message, FileProblem.not_text) from error
    except ValueError as error:
        raise FileFormatError(f"Cannot read {name}: it is not valid JSON ({error}).") from error
    try:
        return from_json(values)
    except FileFormatError as error:
        raise FileFormatError(f"{name}: {error}", error.reason, error.answer_of) from None


def _problem(error: OSError) -> FileProblem:
    if isinstance(error, FileNotFoundError):
        return FileProblem.missing
    if isinstance(error, IsADirectoryError):
        return FileProblem.folder
    # gzip's own errors have no number: the file was readable, but is damaged.
    return FileProblem.damaged if error.errno is None else FileProblem.unreadable


def dumps(profile: Profile) -> str:
    """Return the text that `save` writes: ASCII, so that any terminal can print it and any prompt survives."""
    return json.dumps(to_json(profile), separators=(",", ":"), allow_nan=False) + "\n"


def compress(data: bytes) -> bytes:
    """Compress with gzip without a time stamp, so that equal profiles give equal files."""
    return gzip.compress(data, compresslevel=6, mtime=0)


def to_json(profile: Profile) -> dict[str, Any]:
    """Convert the profile to plain values: dictionaries, lists, strings, exact integers, measured fractions."""
    return {"format": {"name": FORMAT_NAME, "version": FORMAT_VERSION}, **encode_profile(profile)}


def from_json(values: object) -> Profile:
    """Convert the result of `to_json` back to a profile; raise `FileFormatError` if it is not one."""
    form = values.get("format") if isinstance(values, dict) else None
    if isinstance(values, dict) and "traceEvents" in values:
        message = "This is a trace, not a diffprof profile; read it with `diffprof trace`."
        raise FileFormatError(message, FileProblem.other_format)
    if isinstance(form, dict) and isinstance(form.get("name"), str) and form["name"] in ANSWERS:
        command = ANSWERS[form["name"]]
        message = f"This is a result of `diffprof {command}`, not a profile; print it with `diffprof show`."
        raise FileFormatError(message, FileProblem.other_format, command)
    if not isinstance(values, dict) or not isinstance(form, dict) or form.get("name") != FORMAT_NAME:
        message = "This is not a diffprof profile; make one with `diffprof profile MODEL -o FILE.json`."
        raise FileFormatError(message, FileProblem.other_format)
    version = form.get("version")
    if type(version) is not int or version < 1:
        raise FileFormatError(
            f"The profile's format version {version!r} is unknown; this diffprof reads {FORMAT_VERSION}."
        )
    if version > FORMAT_VERSION:
        raise FileFormatError(
            f"The profile has format version {version}, this diffprof reads up to {FORMAT_VERSION}; upgrade diffprof.",
            FileProblem.other_format,
        )
    return decode_profile(upgrade(values) if version == 1 else values)


def _read(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        data = file.read(most + 1)
    # By content, not by name, so that a renamed file still opens.
    if data.startswith(_GZIP_MAGIC):
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as unpacked:
            data = _unpack(unpacked, most)
    if len(data) > most:
        raise ValueError(f"larger than {most:,} bytes")
    return data


def _unpack(file: gzip.GzipFile, most: int) -> bytes:
    import zlib

    try:
        return file.read(most + 1)
    except zlib.error as error:
        raise OSError(f"the compressed file is damaged ({error})") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
