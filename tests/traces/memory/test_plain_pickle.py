"""Pickles of plain containers are read without unpickling; whatever could run code is refused."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffprof.errors import FileFormatError
from diffprof.traces.memory import plain_pickle
from diffprof.traces.memory.plain_pickle import PlainReader, read_plain_pickle

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(value=plain, protocol=st.integers(3, pickle.HIGHEST_PROTOCOL))
def test_plain_values_are_read_as_pickle_reads_them(value: Any, protocol: int) -> None:
    assert PlainReader(pickle.dumps(value, protocol)).read() == value


@pytest.mark.parametrize("protocol", [0, 1, 2])
def test_the_oldest_protocols_are_read_too(protocol: int) -> None:
    value = {"a": [1, 2.5, None, True, "text", 10**12, (1, 2, 3, 4)]}
    assert PlainReader(pickle.dumps(value, protocol)).read() == value


class Hostile:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.system, ("touch pwned",)


HOSTILE = {
    "a call": pickle.dumps(Hostile()),
    "a class": pickle.dumps(Path),
    "an old call": b"cos\nsystem\n(S'touch pwned'\ntR.",
    "an instance": b"(ios\nsystem\nS'touch pwned'\n.",
    "a persistent id": b"Pid\n.",
    "an extension": b"\x82\x01.",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_pickle_is_refused_before_it_does_anything(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "snapshot.pickle"
    file.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"is not read: it is a pickle with the instruction [A-Z_]+|damaged"):
        read_plain_pickle(file)
    assert [path.name for path in tmp_path.iterdir()] == ["snapshot.pickle"]


DOUBLED = [b"q\x00h\x00\x86"] * 80
"""Each makes a tuple that holds the last one twice: to hash the outermost one, 2 to the 80 values are looked at."""

DAMAGED = {
    "empty": b"",
    "no pickle": b"{}",
    "cut off": pickle.dumps({"segments": [1, 2, 3]})[:-3],
    "a text that is longer than the file": b"\x80\x04X\xff\xff\xff\x7fabc.",
    "a number without end": b"\x8a\xff" + b"1" * 300 + b".",
    "nothing on the stack": b"\x80\x04.",
    "an entry that is no key": b"\x80\x04}]]s.",
    "a memo that is not there": b"\x80\x04h\x07.",
    "a key that takes for ever to hash": b"\x80\x04()" + b"".join(DOUBLED) + b"Nd.",
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "snapshot.pickle"
    file.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"not a memory snapshot|is not read"):
        read_plain_pickle(file)


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.pickle"):
        with pytest.raises(FileFormatError, match="is not a file"):
            read_plain_pickle(path)


LARGE = {
    "many lists": b"\x80\x04](" + b"]" * 40 + b"e.",
    "one list many times": b"\x80\x04]\x94(" + b"h\x00" * 200 + b"e.",
    "many names for one list": b"\x80\x04]" + b"\x94" * 60 + b".",
    "a text": pickle.dumps("x" * 3000),
    "marks and nothing else": b"\x80\x04" + b"(" * 100 + b".",
}


@pytest.mark.parametrize("content", LARGE.values(), ids=LARGE.keys())
def test_values_that_would_take_more_memory_than_any_snapshot_are_refused(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_pickle, "MAX_BYTES", 1500)
    file = tmp_path / "snapshot.pickle"
    file.write_bytes(content)
    with pytest.raises(FileFormatError, match="larger than any memory snapshot that is read; record fewer"):
        read_plain_pickle(file)


def test_a_file_that_is_too_large_or_has_too_many_instructions_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "snapshot.pickle"
    file.write_bytes(b"\x80\x04" + b"N0" * 100 + b"N.")
    assert read_plain_pickle(file) is None
    monkeypatch.setattr(plain_pickle, "MAX_INSTRUCTIONS", 150)
    with pytest.raises(FileFormatError, match="larger than any memory snapshot"):
        read_plain_pickle(file)
    os.truncate(file, plain_pickle.LARGEST_FILE + 1)
    with pytest.raises(FileFormatError, match="larger than any memory snapshot"):
        read_plain_pickle(file)
