"""Weights beside the configuration: their headers say in which dtypes they are stored and how large they are."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
import torch
from huggingface_hub.utils import SafetensorsFileMetadata, TensorInfo
from safetensors.torch import load_file, save_file

import diffprof
from tests.pipelines.loadable import saved_with_weights

CALL: dict[str, Any] = {"prompt": "a cat", "num_inference_steps": 1}
UNET = "unet/diffusion_pytorch_model.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved_with_weights("stable-diffusion", tmp_path / "model")


def cast(file: Path, dtype: torch.dtype, only: str = "") -> int:
    """Store weights in another dtype, those whose names have `only` in them; how many elements they are."""
    tensors = {name: weight.to(dtype) if only in name else weight for name, weight in load_file(file).items()}
    save_file(tensors, file)
    return sum(weight.numel() for weight in tensors.values() if weight.dtype == dtype)


def test_a_folder_of_full_weights_costs_what_it_did_without(folder: Path) -> None:
    profile = diffprof.profile(folder, **CALL)
    assert profile.request.dtype == "float32"
    for part in profile.components.values():
        assert part.weight_bytes == 4 * (part.parameters + part.buffers)
        assert set(part.weight_bytes_by_dtype) <= {"float32", "int64"}


def test_a_folder_with_eight_bit_weights_says_so(folder: Path) -> None:
    eight = cast(folder / UNET, torch.float8_e4m3fn, only="attn")
    profile = diffprof.profile(folder, **CALL)
    unet = profile.components["unet"]
    assert unet.weight_bytes_by_dtype == {"float32": 4 * (unet.parameters - eight), "float8_e4m3fn": eight}
    cast(folder / UNET, torch.float8_e4m3fn)
    profile = diffprof.profile(folder, **CALL)
    assert profile.components["unet"].weight_bytes_by_dtype == {"float8_e4m3fn": unet.parameters}
    assert profile.components["unet"].parameters == unet.parameters
    assert profile.request.dtype == "bfloat16"
    assert "unet is stored in float8_e4m3fn and counted as if computed in bfloat16" in profile.ledger.assumptions


def test_half_precision_weights_are_counted_in_half_precision_unless_another_is_requested(folder: Path) -> None:
    for file in folder.glob("*/*.safetensors"):
        cast(file, torch.float16)
    half, full = diffprof.profile(folder, **CALL), diffprof.profile(folder, dtype="float32", **CALL)
    assert (half.request.dtype, full.request.dtype) == ("float16", "float32")
    assert 2 * half.total.weight_bytes == full.total.weight_bytes
    assert half.total.macs == full.total.macs


def test_weights_in_several_files_are_summed_up(folder: Path) -> None:
    tensors = load_file(folder / UNET)
    (folder / UNET).unlink()
    names = sorted(tensors)
    parts = {"one.safetensors": names[:10], "two.safetensors": names[10:]}
    for file, own in parts.items():
        save_file({name: tensors[name].to(torch.bfloat16) for name in own}, folder / "unet" / file)
    index = {"weight_map": {name: file for file, own in parts.items() for name in own}}
    (folder / "unet/diffusion_pytorch_model.safetensors.index.json").write_text(json.dumps(index))
    unet = diffprof.profile(folder, **CALL).components["unet"]
    assert unet.weight_bytes_by_dtype == {"bfloat16": 2 * unet.parameters}
    (folder / "unet" / "two.safetensors").unlink()
    assert diffprof.profile(folder, **CALL).components["unet"].weight_bytes == 4 * unet.parameters, "not all are there"


def test_the_variant_of_the_requested_precision_is_read(folder: Path) -> None:
    variant = folder / "unet/diffusion_pytorch_model.fp16.safetensors"
    save_file(load_file(folder / UNET), variant)
    cast(variant, torch.float16)
    assert "float16" not in diffprof.profile(folder, **CALL).components["unet"].weight_bytes_by_dtype
    (folder / UNET).unlink()
    assert list(diffprof.profile(folder, **CALL).components["unet"].weight_bytes_by_dtype) == ["float16"]


def test_a_damaged_file_is_said_and_takes_nothing_away(folder: Path) -> None:
    before = diffprof.profile(folder, **CALL)
    with (folder / UNET).open("r+b") as file:
        file.truncate(5000)
    after = diffprof.profile(folder, **CALL)
    assert after.total.macs == before.total.macs
    assert [text for text in after.ledger.assumptions if text.startswith("the weight files of unet are not used: ")]


class Hub:
    """Stands in for the hub: answers with headers and small files, as huggingface_hub documents it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.headers: list[str] = []
        self.files: list[str] = []

    def info(self, api: Any, hub_id: str, **_: Any) -> Any:
        names = [path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file()]
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=name) for name in names])

    def header(self, api: Any, hub_id: str, filename: str, **_: Any) -> SafetensorsFileMetadata:
        self.headers.append(filename)
        with (self.folder / filename).open("rb") as file:
            values = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        metadata = values.pop("__metadata__", {})
        infos = {
            name: TensorInfo(value["dtype"], value["shape"], tuple(value["data_offsets"]))
            for name, value in values.items()
        }
        return SafetensorsFileMetadata(metadata, infos)

    def download(self, hub_id: str, filename: str, **_: Any) -> str:
        self.files.append(filename)
        return str(self.folder / filename)


@pytest.fixture
def hub(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    stand_in = Hub(folder)
    configuration = tmp_path / "fetched"

    def snapshot(hub_id: str, **_: Any) -> str:
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix != ".safetensors":
                target = configuration / path.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
        return str(configuration)

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda api, hub_id, **_: stand_in.info(api, hub_id))
    monkeypatch.setattr(
        huggingface_hub.HfApi, "parse_safetensors_file_metadata", lambda api, *args, **_: stand_in.header(api, *args)
    )
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", stand_in.download)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    return stand_in


def test_a_model_on_the_hub_is_read_by_its_headers_alone(hub: Hub) -> None:
    eight = cast(hub.folder / UNET, torch.float8_e4m3fn)
    profile = diffprof.profile("someone/some-model", **CALL)
    assert profile.components["unet"].weight_bytes_by_dtype == {"float8_e4m3fn": eight}
    assert sorted(hub.headers) == ["text_encoder/model.safetensors", UNET, "vae/diffusion_pytorch_model.safetensors"]
    assert not [name for name in hub.files if name.endswith(".safetensors")], "never whole files"


def test_a_hub_that_does_not_answer_for_headers_is_said(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise TimeoutError

    monkeypatch.setattr(huggingface_hub.HfApi, "parse_safetensors_file_metadata", fail)
    profile = diffprof.profile("someone/some-model", **CALL)
    assert "the headers of the weights on the hub were not read (TimeoutError): dtypes are assumed" in (
        profile.ledger.assumptions
    )
