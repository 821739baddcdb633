"""Commands that take a model take a weight file, and refuse a bad one in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diffprof.pipelines.opening import open_virtual
from tests.cli.conftest import Run
from tests.pipelines.weight_headers import write_header, write_shapes

SMALL = ("--steps", "1", "--quiet")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The weights of a DiT in eight bits, as large as the real ones and taking no room."""
    weights = open_virtual("dit-xl-2-256", None, None).pipeline.transformer.state_dict()
    shapes = {name: tuple(weight.shape) for name, weight in weights.items()}
    return str(write_shapes(tmp_path_factory.mktemp("weights") / "dit.safetensors", shapes, "F8_E4M3"))


def test_a_weight_file_is_profiled(file: str, run: Run) -> None:
    ended = run("profile", file, *SMALL, "--json")
    profile = json.loads(ended.out)
    transformer = profile["components"]["transformer"]
    assert transformer["weight_bytes_by_dtype"] == {"float8_e4m3fn": transformer["weight_bytes"]}
    assert transformer["weight_bytes"] == transformer["parameters"] + transformer["buffers"]
    assert "MB in float8_e4m3fn" in run("profile", file, *SMALL).out


def test_a_weight_file_is_compared_with_a_model(file: str, run: Run) -> None:
    ended = run("compare", file, "dit-xl-2-256", *SMALL)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{file} against dit-xl-2-256\n")


def test_a_report_is_written_of_a_weight_file(file: str, run: Run, tmp_path: Path) -> None:
    ended = run("report", file, "-o", str(tmp_path / "report.html"), "--quiet")
    assert (ended.code, ended.err) == (0, "")
    assert "DiTPipeline" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_weight_file_is_given_a_name(file: str, run: Run) -> None:
    assert run("models", "add", file, "--name", "our-dit", "-q").code == 0
    named, by_path = (json.loads(run("profile", model, *SMALL, "--json").out) for model in ("our-dit", file))
    assert named["total"] == by_path["total"]


def test_a_header_that_lies_ends_in_one_sentence(run: Run, tmp_path: Path) -> None:
    header = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    ended = run("profile", str(write_header(tmp_path / "cut.safetensors", header)), "--quiet")
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert "describes 8 bytes of tensors, and the file holds 0" in ended.err


def test_a_pickle_ends_in_one_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "old.ckpt").write_bytes(b"\x80\x02.")
    ended = run("profile", str(tmp_path / "old.ckpt"), "--quiet")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "is a pickle, which can run code when it is read" in ended.err
