"""A tokenizer that would make a short text endless is refused before its library works on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.pipelines.building.tokenizer_bounds import check_tokenizer_file

TENFOLD = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}
USUAL = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}


def written(folder: Path, **values: Any) -> Path:
    (folder / "tokenizer.json").write_text(json.dumps(values), encoding="utf-8")
    return folder


def template(times: int, ids: int) -> dict[str, Any]:
    token = {"SpecialToken": {"id": "x", "type_id": 0}}
    return {"type": "TemplateProcessing", "single": [token] * times, "special_tokens": {"x": {"ids": [0] * ids}}}


@pytest.mark.parametrize(
    "values",
    [
        {"normalizer": {"type": "Sequence", "normalizers": [TENFOLD] * 12}},
        {"normalizer": {"type": "Sequence", "normalizers": [{"normalizers": [TENFOLD] * 3}, TENFOLD]}},
        {"normalizer": {"type": "Prepend", "prepend": "a" * 100_000}},
        {"post_processor": template(2_000, 2_000)},
        {"post_processor": {"type": "Sequence", "processors": [template(2_000, 2_000)]}},
    ],
)
def test_endless_texts_are_refused(values: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"tokenizer\.json makes every text longer than any tokenizer does"):
        check_tokenizer_file(written(tmp_path, **values))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"normalizer": {"type": "Sequence", "normalizers": [USUAL] * 40 + [{"type": "Prepend", "prepend": "▁"}]}},
        {"normalizer": None, "post_processor": template(3, 1)},
        {"normalizer": [1], "post_processor": {"special_tokens": [2]}},
    ],
)
def test_what_tokenizers_do_is_left_to_them(values: dict[str, Any], tmp_path: Path) -> None:
    check_tokenizer_file(written(tmp_path, **values))


def test_a_file_that_is_none_is_left_to_the_library(tmp_path: Path) -> None:
    check_tokenizer_file(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(b"\xff{")
    check_tokenizer_file(tmp_path)
