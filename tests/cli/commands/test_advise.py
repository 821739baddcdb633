"""``diffprof advise`` from the shell."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import diffprof
from tests.cli.conftest import Run
from tests.small_pipelines import SMALL_PIPELINES


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    small = SMALL_PIPELINES["flux"]
    profile = diffprof.profile(small.build(), **small.arguments())
    return str(profile.save(tmp_path_factory.mktemp("advise") / "small.json"))


def test_options_with_their_risk_and_code(run: Run, file: str) -> None:
    ended = run("advise", file, "--gpu", "rtx-4090", "--goal", "memory", "--verbose")
    assert (ended.code, ended.err) == (0, "")
    assert all(words in ended.out for words in ("what to change", "as requested", "risk", "from_pretrained"))
    assert "diffprof fit" in ended.out and "diffprof predict" in ended.out


def test_json_and_csv_have_the_same_options(run: Run, file: str) -> None:
    values = json.loads(run("advise", file, "--gpu", "t4", "--json").out)
    rows = list(csv.DictReader(io.StringIO(run("advise", file, "--gpu", "t4", "--csv").out)))
    assert [row["total_seconds"] for row in rows[1:]] == [str(one["total_seconds"]) for one in values["options"]]
    assert (values["goal"], values["accelerator"]) == ("time", "t4")


@pytest.mark.parametrize("ending", ["json", "csv", "txt", "html"])
def test_each_kind_of_file(ending: str, run: Run, file: str, tmp_path: Path) -> None:
    target = tmp_path / f"advice.{ending}"
    assert run("advise", file, "--gpu", "t4", "-o", str(target)).code == 0
    assert "compile" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--gpu", "t5"], "Unknown accelerator 't5'"),
        (["--gpu", "t4", "--goal", "x"], "Unknown goal 'x'"),
        (["--gpu", "t4", "--max-time", "soon"], "--max-time must be a number"),
        (["--gpu", "t4", "--max-memory", "x"], "--max-memory must be an amount of memory"),
    ],
)
def test_a_wrong_request_is_one_sentence(arguments: list[str], sentence: str, run: Run, file: str) -> None:
    ended = run("advise", file, *arguments)
    assert (ended.code, len(ended.err.strip().splitlines())) == (2, 1)
    assert sentence in ended.err
