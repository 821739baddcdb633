"""Which weight files are read: whole safetensors of the requested precision, never a pickle."""

from __future__ import annotations

import json
from pathlib import Path

import diffusers
import pytest
import torch
import transformers
from safetensors.torch import save_file

from diffprof.errors import RequestError, UnsafeModelError
from diffprof.pipelines.loading.weight_files import (
    WeightFileChoice,
    choose_weight_file,
    format_names,
    shards_of,
    weight_files,
)

UNET, CLIP = diffusers.UNet2DConditionModel, transformers.CLIPTextModel
STEM = "diffusion_pytorch_model"


def test_the_precision_that_is_requested_is_read_where_it_is_there() -> None:
    names = [f"{STEM}.safetensors", f"{STEM}.fp16.safetensors"]
    whole = choose_weight_file(names, "folder", "unet", UNET, torch.float32)
    half = choose_weight_file(names, "folder", "unet", UNET, torch.float16)
    assert (whole, half) == (WeightFileChoice(names[0]), WeightFileChoice(names[1], "fp16"))
    assert choose_weight_file(names[1:], "folder", "unet", UNET, torch.float32).variant == "fp16"


def test_each_library_has_its_own_file_names() -> None:
    names = ["model.safetensors", f"{STEM}.safetensors"]
    assert choose_weight_file(names, "folder", "text_encoder", CLIP, torch.float32).name == "model.safetensors"
    assert choose_weight_file(names, "folder", "unet", UNET, torch.float32).name == names[1]


def test_a_pickle_is_rejected_and_so_is_nothing_at_all() -> None:
    with pytest.raises(UnsafeModelError, match="only as a pickle"):
        choose_weight_file([f"{STEM}.bin"], "folder", "unet", UNET, torch.float32)
    with pytest.raises(RequestError, match="is missing, the weights of unet"):
        choose_weight_file([], "folder", "unet", UNET, torch.float32)


def test_an_index_may_list_files_of_its_own_folder_only(tmp_path: Path) -> None:
    index = tmp_path / f"{STEM}.safetensors.index.json"
    index.write_text(
        json.dumps({"weight_map": {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"}})
    )
    assert shards_of(index) == {"one.safetensors": ["a", "b"], "two.safetensors": ["c"]}
    index.write_text(json.dumps({"weight_map": {"a": "../one.safetensors"}}))
    with pytest.raises(UnsafeModelError, match="not one of its folder"):
        shards_of(index)
    index.write_text(json.dumps({}))
    with pytest.raises(RequestError, match="lists no weight files"):
        shards_of(index)


def test_files_are_whole_and_their_bytes_are_known(tmp_path: Path) -> None:
    file = tmp_path / f"{STEM}.safetensors"
    save_file({"weight": torch.zeros(5)}, file)
    found = weight_files(tmp_path, "unet", UNET, torch.float32)
    assert found.files == (file,)
    assert found.file_bytes == file.stat().st_size
    file.write_bytes(b"version https://git-lfs.github.com/spec/v1")
    with pytest.raises(RequestError, match="pointer of git-lfs"):
        weight_files(tmp_path, "unet", UNET, torch.float32)


def test_many_names_are_one_and_a_number() -> None:
    assert format_names(["a"]) == "a"
    assert format_names(["a"] * 1201) == "a and 1,200 more"
