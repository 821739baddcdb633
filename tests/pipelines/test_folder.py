"""A folder in diffusers layout is data: a broken one is refused, and code in it is never run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import diffprof
from diffprof.errors import RequestError, UnsafeModelError
from tests.cli.conftest import Run
from tests.pipelines.refusals import Damage, assert_one_sentence, change_config, change_index, write_file

UNSAFE: dict[str, tuple[Damage, str]] = {
    "a pipeline class of its own": (change_index(_class_name=["pipeline", "MyPipeline"]), "pipeline code of its own"),
    "a pipeline that diffusers does not have": (
        change_index(_class_name="MyPipeline"),
        "diffusers has no pipeline MyPipeline",
    ),
    "a pipeline class that is none": (
        change_index(_class_name="UNet2DConditionModel"),
        "has no pipeline UNet2DConditionModel",
    ),
    "a pipeline name that is a path": (change_index(_class_name="os.system"), "has no pipeline os.system"),
    "a class of another library": (change_index(unet=["my_package", "UNet"]), "my_package.UNet"),
    "a class of the standard library": (change_index(unet=["os", "system"]), "os.system"),
    "a class of a submodule": (change_index(unet=["diffusers.utils", "os"]), "diffusers.utils.os"),
    "a class of torch": (change_index(unet=["torch.nn", "Linear"]), "torch.nn.Linear"),
    "a function of transformers": (change_index(unet=["transformers", "pipeline"]), "transformers.pipeline"),
    "a component by a path": (
        change_index(**{"../outside": ["diffusers", "UNet2DConditionModel"]}),
        "outside of its folder",
    ),
    "an absolute path": (change_index(**{"/etc": ["diffusers", "UNet2DConditionModel"]}), "outside of its folder"),
    "code for a config": (change_config("unet", auto_map={"AutoModel": "modeling.MyModel"}), "auto_map"),
    "code for a text encoder": (change_config("text_encoder", auto_map={"AutoModel": "x.y"}), "auto_map"),
    "code for a config inside of a config": (
        change_config("text_encoder", vision_config={"auto_map": {"AutoModel": "x.y"}}),
        "auto_map",
    ),
    "a tokenizer of another library": (
        change_index(tokenizer=["my_package", "CLIPTokenizer"]),
        "my_package.CLIPTokenizer",
    ),
    "a slot that the pipeline does not have": (change_index(extra=["my_package", "Extra"]), "my_package.Extra"),
    "a safety checker of another library": (
        change_index(safety_checker=["my_package", "Checker"]),
        "my_package.Checker",
    ),
    "a class that is no component": (change_index(unet=["transformers", "TrainingArguments"]), "it is no component"),
    "the base of all pipelines": (change_index(_class_name="DiffusionPipeline"), "has no pipeline DiffusionPipeline"),
    "the folder above": (change_index(**{"..": ["diffusers", "UNet2DConditionModel"]}), "outside of its folder"),
    "trust in remote code": (change_config("unet", trust_remote_code=True), "trust_remote_code"),
}


@pytest.mark.parametrize(("damage", "words"), UNSAFE.values(), ids=UNSAFE.keys())
def test_a_folder_that_asks_for_foreign_code_is_rejected_and_none_is_run(
    damage: Damage, words: str, model: Path, run: Run
) -> None:
    damage(model)
    trap(model)
    with pytest.raises(UnsafeModelError) as refusal:
        diffprof.profile(model)
    assert words in str(refusal.value)
    ended = run("profile", str(model))
    assert (ended.code, ended.out) == (2, "")
    assert_one_sentence(ended.err, words)


def trap(model: Path) -> None:
    """Were anything here imported, the test would end at once."""
    code = "import os; os._exit(3)"
    for name in ("pipeline.py", "modeling.py", "my_package.py", "unet/modeling.py", "unet/my_package.py"):
        (model / name).write_text(code)


BROKEN: dict[str, tuple[Damage, str]] = {
    "no index": (lambda model: (model / "model_index.json").unlink(), "no model_index.json"),
    "an index that is not JSON": (write_file("model_index.json", "{"), "not valid JSON"),
    "an index that is a list": (write_file("model_index.json", "[]"), "does not hold a JSON object"),
    "an index that is not text": (write_file("model_index.json", b"\xff\xfe\x00"), "not valid JSON"),
    "an index of a thousand brackets": (write_file("model_index.json", "[" * 100_000), "not valid JSON"),
    "a config that is not JSON": (write_file("unet/config.json", "nonsense"), "not valid JSON"),
    "a config that is empty": (write_file("unet/config.json", ""), "not valid JSON"),
    "a missing component": (lambda model: shutil.rmtree(model / "unet"), "has no config file"),
    "a missing config": (lambda model: (model / "vae" / "config.json").unlink(), "has no config file"),
}


@pytest.mark.parametrize(("damage", "words"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_folder_is_rejected_with_the_reason(damage: Damage, words: str, model: Path, run: Run) -> None:
    damage(model)
    with pytest.raises(RequestError) as refusal:
        diffprof.profile(model)
    assert words in str(refusal.value)
    ended = run("profile", str(model))
    assert (ended.code, ended.out) == (2, "")
    assert_one_sentence(ended.err, words)
