"""A value of a setting is read from text, from TOML and as it is; a wrong one is refused with what it must be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from diffprof import config
from diffprof.config import setting
from diffprof.errors import RequestError
from diffprof.settings import values


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("enable_compute_profiling", "0", False),
        ("enable_compute_profiling", "off", False),
        ("keep", "TRUE", True),
        ("default_guidance_scale", "3.5", 3.5),
        ("default_seed", "0", 0),
        ("model_memory_limit", "8GB", 8 * 10**9),
        ("model_memory_limit", "512 MiB", 512 * 2**20),
        ("model_memory_limit", "1.5k", 1500),
        ("model_memory_limit", "123456", 123456),
        ("dtype", "BFloat16", "bfloat16"),
        ("offload", "model", "model"),
        ("device", " cuda:1 ", "cuda:1"),
        ("default_fps", "24", 24),
    ],
)
def test_a_value_is_read_from_text_in_the_environment(
    key: str, text: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"DIFFPROF_{key.upper()}", text)
    found = setting(key).value
    assert found == value
    assert type(found) is type(value)


def test_size_presets_are_added_to_the_default_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_SIZE_PRESETS", "poster=1024x1536, square=64x64")
    assert config.SIZE_PRESETS["poster"] == (1024, 1536)
    assert config.SIZE_PRESETS["square"] == (64, 64)
    assert config.SIZE_PRESETS["portrait"] == (512, 768)
    monkeypatch.delenv("DIFFPROF_SIZE_PRESETS")
    Path("diffprof.toml").write_text('[size_presets]\nstamp = [32, 48]\nstrip = "800x100"\n')
    assert (config.SIZE_PRESETS["stamp"], config.SIZE_PRESETS["strip"]) == ((32, 48), (800, 100))


@pytest.mark.parametrize(
    ("key", "text", "sentence"),
    [
        ("enable_compute_profiling", "maybe", "must be 1 or 0, not 'maybe'"),
        ("default_steps", "0", "must be a whole number from 1 to 100,000, not '0'"),
        ("default_steps", "2.5", "must be a whole number"),
        ("default_seed", str(2**63), "must be a whole number from 0 to"),
        ("default_guidance_scale", "nan", "must be a number"),
        ("model_memory_limit", "lots", "must be an amount of memory such as 8GB"),
        ("model_memory_limit", "0", "must be an amount of memory"),
        ("dtype", "int4", "must be one of float32, float16, bfloat16"),
        ("offload", "cloud", "must be one of model, sequential, group"),
        ("size_presets", "poster=big", "must be sizes such as 512x768"),
        ("cache_dir", "x" * 300, "must be a path that is short enough for a file system"),
    ],
)
def test_a_wrong_value_is_rejected_with_its_variable(
    key: str, text: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"DIFFPROF_{key.upper()}", text)
    with pytest.raises(RequestError, match=f"DIFFPROF_{key.upper()} {sentence}"):
        setting(key)


@pytest.mark.parametrize(
    ("read", "value", "result"),
    [
        (values.flag, "Yes", True),
        (values.flag, " off ", False),
        (values.text, " cuda:1 ", "cuda:1"),
        (values.text, "None", None),
        (values.amount, "8GiB", 8 * 2**30),
        (values.amount, "1.5 TB", 1_500_000_000_000),
        (values.amount, 1024, 1024),
        (values.folder, "images", Path("/base/images")),
        (values.folder, "/srv/images", Path("/srv/images")),
        (values.folders, f"a{os.pathsep}/b", (Path("/base/a"), Path("/b"))),
        (values.folders, [], ()),
        (values.choice(("model", "group")), "GROUP", "group"),
        (values.dtype, "fp16", "float16"),
        (values.within_limits("num_inference_steps"), "20", 20),
    ],
)
def test_a_reader_turns_a_value_into_its_type(read: values.Read, value: Any, result: Any) -> None:
    assert read(value, Path("/base")) == result


@pytest.mark.parametrize("value", [True, "8 bytes of", "-1", "1e9", 0])
def test_text_that_is_not_an_amount_of_memory_is_rejected(value: Any) -> None:
    with pytest.raises(ValueError, match="an amount of memory such as 8GB"):
        values.amount(value, Path())


@pytest.mark.parametrize("value", ["512", "512x", [512], [512, 0], [512, True], (1, 2, 3)])
def test_a_size_is_two_positive_whole_numbers(value: Any) -> None:
    assert values.size("512 x 768") == values.size([512, 768]) == (512, 768)
    with pytest.raises(ValueError, match="width and height in pixels"):
        values.size(value)


def test_a_misspelt_name_is_answered_with_the_nearest_ones_or_with_all() -> None:
    assert values.suggest("heigth", ["width", "height"]) == "did you mean height?"
    assert values.suggest("xyz", ["width", "height"]) == "there are width, height."
