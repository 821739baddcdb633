"""Laws as files of the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof import catalogue
from diffprof.errors import FileFormatError
from diffprof.laws.law_file import ENDING, FOLDER, models_with_laws, packaged_law, read_law, reasons

MAX_BYTES = 8 * 1024 * 1024


def test_laws_are_of_models_in_the_catalogue_and_small() -> None:
    names = {entry.name for entry in catalogue.entries()}
    assert models_with_laws()
    assert {*models_with_laws(), *reasons()} <= names
    assert not {*models_with_laws()} & {*reasons()}
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) <= MAX_BYTES


def test_every_law_reads_and_says_what_it_is_of() -> None:
    assert models_with_laws()
    for model in models_with_laws():
        law = packaged_law(model)
        assert law is not None
        assert law.model == model
        assert len(law.programs) == len(law.domains) > 0


def test_a_model_without_a_law_has_none() -> None:
    assert packaged_law("no such model") is None


@pytest.mark.parametrize("content", [b"", b"diffprof law\n", b"something else"])
def test_what_is_no_law_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / f"broken{ENDING}"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"is not a law|checksum does not match"):
        read_law(path)
