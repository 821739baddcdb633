"""One pipeline opened by name, from a folder, from the hub and as an object: one count."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import diffprof
from diffprof.errors import RequestError
from tests.pipelines.folders import edit, saved, without_tokenizer_files
from tests.small_pipelines import SMALL_PIPELINES

ARGUMENTS = {"prompt": "a small red house by the sea", "num_inference_steps": 2}


@pytest.mark.parametrize("name", ["stable-diffusion", "stable-diffusion-3", "sana", "wan-2.1", "qwen-image"])
def test_a_folder_costs_what_the_object_costs_that_was_saved_to_it(name: str, tmp_path: Path) -> None:
    small = SMALL_PIPELINES[name]
    live = diffprof.profile(small.build(), **small.arguments())
    opened = diffprof.profile(saved(name, tmp_path / "model"), **small.arguments())
    assert [(call.component, call.method, call.inputs, call.work) for call in opened.calls] == [
        (call.component, call.method, call.inputs, call.work) for call in live.calls
    ]
    assert opened.steps == live.steps
    parameters = {slot: part.parameters for slot, part in opened.components.items()}
    assert parameters == {slot: part.parameters for slot, part in live.components.items()}
    assert (opened.request.source, live.request.source) == ("folder", "object")


@pytest.mark.parametrize("name", ["sd-2.1-base", "SD-2.1-BASE", "stabilityai/stable-diffusion-2-1-base"])
def test_a_catalogue_model_answers_to_its_names(name: str) -> None:
    done = diffprof.profile(name, height=64, width=64, num_inference_steps=1)
    assert (done.request.model, done.request.source) == ("sd-2.1-base", "catalogue")
    assert done.components["unet"].parameters == 865_910_724


def test_a_catalogue_model_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a catalogue model must not reach for the network")

    monkeypatch.setattr("socket.socket.connect", refuse)
    assert diffprof.profile("sd-2.1-base", height=64, width=64, num_inference_steps=1).total.macs > 0


def test_missing_arguments_have_the_pipelines_defaults() -> None:
    done = diffprof.profile("sd-2.1-base")
    assert done.request.arguments == {}
    assert (done.request.value("height"), done.request.value("num_inference_steps")) == (512, 50)
    assert done.steps.count == 51
    assert "prompt was not given: 'a photo of a cat' stands in" in done.ledger.assumptions


def test_a_folder_given_as_text_and_as_a_path_are_the_same(model: Path) -> None:
    assert diffprof.profile(str(model), **ARGUMENTS) == diffprof.profile(model, **ARGUMENTS)


def test_a_folder_with_the_name_of_a_model_is_opened_only_as_a_path(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.rename(tmp_path / "sd-1.5")
    monkeypatch.chdir(tmp_path)
    assert diffprof.profile("./sd-1.5", **ARGUMENTS).request.source == "folder"
    assert diffprof.profile("sd-1.5", height=64, width=64, num_inference_steps=1).request.source == "catalogue"


def test_a_changed_folder_is_opened_again(model: Path) -> None:
    before = diffprof.profile(model, **ARGUMENTS)
    edit(model / "unet" / "config.json", lambda config: config.update(layers_per_block=2))
    assert diffprof.profile(model, **ARGUMENTS).components["unet"].macs > before.components["unet"].macs


def count(model: Path) -> int:
    return diffprof.profile(model, **ARGUMENTS).total.macs


@pytest.fixture(scope="module")
def macs(saved_once: Path) -> int:
    """Of the model as it was saved."""
    return diffprof.profile(saved_once, use_cache=False, **ARGUMENTS).total.macs


def test_a_missing_tokenizer_is_stood_in_for_and_written_down(model: Path, macs: int) -> None:
    without_tokenizer_files(model)
    done = diffprof.profile(model, **ARGUMENTS)
    assert done.total.macs == macs
    assert [sentence for sentence in done.ledger.assumptions if "stand-in for CLIPTokenizer" in sentence]


QUANTIZED = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}


@pytest.mark.parametrize("slot", ["unet", "text_encoder"])
def test_a_quantized_component_counts_as_the_layers_it_stands_for(slot: str, model: Path, macs: int) -> None:
    edit(model / slot / "config.json", lambda config: config.update(quantization_config=QUANTIZED))
    done = diffprof.profile(model, **ARGUMENTS)
    assert done.total.macs == macs
    assert [sentence for sentence in done.ledger.assumptions if f"{slot} is published quantized" in sentence]
    assert "nf4" in done.components[slot].weight_bytes_by_dtype


ODDITIES: dict[str, tuple[str, dict[str, Any]]] = {
    "a key that no longer exists": ("unet/config.json", {"upcast_attention_old": True, "_diffusers_version": "0.9.1"}),
    "a key of an old transformers": ("text_encoder/config.json", {"torch_dtype": "float16", "return_dict": True}),
    "another dtype": ("text_encoder/config.json", {"dtype": "bfloat16"}),
    "an attention implementation": ("text_encoder/config.json", {"_attn_implementation": "flash_attention_2"}),
    "the path it came from": ("vae/config.json", {"_name_or_path": "/nowhere/at/all"}),
    "an old scheduler key": ("scheduler/scheduler_config.json", {"clip_sample_old": False, "trained_betas": None}),
    "a setting of the pipeline": ("model_index.json", {"requires_safety_checker": True, "force_zeros": True}),
    "a version that is not there yet": ("model_index.json", {"_diffusers_version": "99.0.0"}),
    "a safety checker that was left out": (
        "model_index.json", {"safety_checker": ["stable_diffusion", "StableDiffusionSafetyChecker"]},
    ),
    "a slot that the pipeline does not have": ("model_index.json", {"watermarker": [None, None]}),
}  # fmt: skip


@pytest.mark.parametrize(("path", "change"), ODDITIES.values(), ids=ODDITIES.keys())
def test_an_oddity_of_published_folders_changes_nothing(
    path: str, change: dict[str, Any], model: Path, macs: int
) -> None:
    edit(model / path, lambda config: config.update(change))
    assert count(model) == macs


def test_an_image_processor_by_its_old_name_is_found(tmp_path: Path) -> None:
    model = saved("stable-diffusion-ip-adapter", tmp_path / "model")
    edit(
        model / "model_index.json",
        lambda index: index.update(feature_extractor=["transformers", "CLIPFeatureExtractor"]),
    )
    edit(model / "unet" / "config.json", lambda config: config.update(encoder_hid_dim=None, encoder_hid_dim_type=None))
    assert count(model) > 0


def test_a_dtype_is_that_of_the_weights_and_their_bytes(model: Path) -> None:
    whole, half = (diffprof.profile(model, dtype=dtype, **ARGUMENTS) for dtype in ("float32", "float16"))
    assert whole.total.macs == half.total.macs
    assert whole.components["unet"].weight_bytes == 4 * whole.components["unet"].parameters
    assert half.components["unet"].weight_bytes == 2 * half.components["unet"].parameters
    assert half.components["unet"].dtype == "float16"


def test_weights_in_the_folder_are_not_read(model: Path, tmp_path: Path) -> None:
    """A pickle that would make a file when it is opened, and safetensors that are none."""
    trace = tmp_path / "was-run"
    for name in ("diffusion_pytorch_model.bin", "pytorch_model.bin"):
        torch.save(Trap(trace), model / "unet" / name)
        torch.save(Trap(trace), model / "text_encoder" / name)
    (model / "unet" / "diffusion_pytorch_model.safetensors").write_bytes(b"\xff" * 100)
    assert count(model) > 0
    assert not trace.exists()


class Trap:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_no_code_in_the_folder_is_imported(model: Path) -> None:
    code = "raise SystemExit('code of a model was run')"
    for place in ("pipeline.py", "unet/modeling.py", "sitecustomize.py", "unet/__init__.py", "__init__.py"):
        (model / place).write_text(code)
    before = set(sys.modules)
    assert count(model) > 0
    assert not [
        name for name in set(sys.modules) - before if str(model) in str(getattr(sys.modules[name], "__file__", ""))
    ]


def test_a_folder_is_only_read(model: Path) -> None:
    def content() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(model.rglob("*")) if path.is_file()}

    before = content()
    count(model)
    assert content() == before
    assert json.loads(before[str(model / "model_index.json")])["_class_name"] == "StableDiffusionPipeline"


@pytest.mark.parametrize(("name", "words"), [("", "Unknown model"), ("~nobody-of-that-name/x", "There is no folder")])
def test_a_name_means_the_same_in_python_as_on_the_command_line(name: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        diffprof.profile(name)
