"""The readers that are tried with inputs guided by coverage: whole samples are read, and changed ones are refused."""

from __future__ import annotations

import random
from importlib.util import find_spec
from pathlib import Path

import pytest

from diffprof.errors import DiffprofError
from tests.children import run_child
from tests.fuzz.coverage import MISSING, READERS
from tests.fuzz.mutation import Mutator


@pytest.mark.parametrize("name", sorted(READERS))
def test_each_reader_takes_its_samples_and_refuses_or_takes_changes_of_them(name: str, tmp_path: Path) -> None:
    ending, import_reader, samples, change = READERS[name]
    read, file = import_reader(), tmp_path / f"input{ending}"
    for sample in samples():
        file.write_bytes(sample)
        read(file)
        changes = [change(sample, Mutator(random.Random(f"{name}:{number}"))) for number in range(5)]
        assert any(changed not in (None, sample) for changed in changes), "the format survives a change"
        for changed in filter(None, changes):
            file.write_bytes(changed)
            try:
                read(file)
            except DiffprofError as refused:
                assert str(refused)


@pytest.mark.skipif(find_spec("atheris") is not None, reason="atheris is installed")
def test_without_atheris_one_sentence_says_so() -> None:
    assert run_child("-m", "tests.fuzz.coverage", "gguf", exit_code=2).stderr == f"{MISSING}\n"


@pytest.mark.skipif(find_spec("atheris") is None, reason="needs atheris")
def test_inputs_that_reach_new_code_are_kept(tmp_path: Path) -> None:
    places = ("--corpus", tmp_path, "--failures", tmp_path / "failures")
    run_child("-m", "tests.fuzz.coverage", "safetensors", "--seconds", 5, *places)
    assert len(list((tmp_path / "safetensors").iterdir())) > 1
