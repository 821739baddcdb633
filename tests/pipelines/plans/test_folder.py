"""A folder in diffusers layout is data: a broken one is refused, and code in it is never run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import diffprof
from diffprof.errors import RequestError, UnsafeModelError
from tests.cli.conftest import Run
from tests.extensive import split_cases
from tests.pipelines.refusals import Damage, assert_one_sentence, change_config, change_index, write_file

UNSAFE: dict[str, tuple[Damage, str]] = {
    "a pipeline class of its own": (change_index(_class_name=["pipeline", "MyPipeline"]), "its own pipeline code"),
    "a pipeline that diffusers does not have": (
        change_index(_class_name="MyPipeline"),
        "diffusers has no pipeline MyPipeline",
    ),
    "a pipeline that was exported": (
        change_index(_class_name="OVStableDiffusionPipeline", unet=["optimum", "OVModelUnet"]),
        "exported for optimum",
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
    "a class that is no component": (change_index(unet=["transformers", "TrainingArguments"]), "it is not a component"),
    "the base of all pipelines": (change_index(_class_name="DiffusionPipeline"), "has no pipeline DiffusionPipeline"),
    "the folder above": (change_index(**{"..": ["diffusers", "UNet2DConditionModel"]}), "outside of its folder"),
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


NOT_NEEDED: dict[str, tuple[Damage, str]] = {
    "code for a config": (
        change_config("unet", auto_map={"AutoModel": "modeling.MyModel"}),
        "unet: its configuration names code of the model's repository",
    ),
    "trust in remote code": (change_config("unet", trust_remote_code=True), "own UNet2DConditionModel is taken"),
    "code for a config inside of a config": (
        change_config("text_encoder", other_config={"auto_map": {"AutoModel": "x.y"}}),
        "text_encoder: its configuration names code",
    ),
    "a module of the repository": (
        change_index(unet=["my_package", "UNet2DConditionModel"]),
        "unet: my_package.UNet2DConditionModel is taken as diffusers' class of that name",
    ),
    "a tokenizer of another library": (
        change_index(tokenizer=["my_package", "CLIPTokenizer"]),
        "tokenizer: my_package.CLIPTokenizer is taken as transformers' class of that name",
    ),
    "a pipeline of the repository": (
        change_index(_class_name=["pipeline", "StableDiffusionPipeline"]),
        "pipeline.StableDiffusionPipeline is taken as diffusers' class of that name",
    ),
    "a slot that the pipeline does not have": (
        change_index(extra=["my_package", "Extra"]),
        "extra (Extra) is not a component of StableDiffusionPipeline: it is left out",
    ),
    "an image encoder of another library": (
        change_index(image_encoder=["my_package", "Encoder"]),
        "image_encoder: my_package.Encoder is not a class of the libraries: it is left out",
    ),
    "a safety checker of another library": (
        change_index(safety_checker=["my_package", "Checker"]),
        "safety_checker: my_package.Checker is not a class of the libraries: it is left out",
    ),
    "a tokenizer of a class that nobody knows": (
        change_index(tokenizer=["transformers", "BackendOfTomorrow"]),
        "tokenizer: transformers.BackendOfTomorrow is not a class of the libraries: AutoTokenizer takes its place",
    ),
    "a key that the class does not have": (
        change_config("unet", extra_condition_channels=4),
        "UNet2DConditionModel of the installed diffusers ignores extra_condition_channels of its configuration",
    ),
}


OF_OTHER_LIBRARIES = {
    "an image encoder of another library", "a safety checker of another library", "code for a config",
    "a module of the repository", "trust in remote code",
}  # fmt: skip


@pytest.mark.parametrize("name", split_cases(NOT_NEEDED, always=NOT_NEEDED.keys() - OF_OTHER_LIBRARIES))
def test_code_of_a_repository_that_is_not_needed_is_not_run_and_said(name: str, model: Path) -> None:
    change, words = NOT_NEEDED[name]
    size = {"height": 16, "width": 16, "num_inference_steps": 1}
    plain = diffprof.profile(model, **size)
    change(model)
    trap(model)
    changed = diffprof.profile(model, **size)
    assert changed.total == plain.total
    assert any(words in sentence for sentence in changed.ledger.assumptions), changed.ledger.assumptions


def test_files_of_components_may_lie_beside_the_index_as_in_the_first_repositories(model: Path) -> None:
    size = {"height": 16, "width": 16, "num_inference_steps": 1}
    usual = diffprof.profile(model, **size)
    for slot, name in (("unet", "config.json"), ("scheduler", "scheduler_config.json")):
        (model / slot / name).rename(model / name)
        shutil.rmtree(model / slot)
    beside = diffprof.profile(model, **size)
    assert beside.total == usual.total
    assert beside.ledger.assumptions == usual.ledger.assumptions


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


def test_a_folder_around_a_pipeline_names_the_one_to_give(model: Path) -> None:
    with pytest.raises(RequestError, match=rf"no model_index\.json; give .*/{model.name}"):
        diffprof.profile(model.parent)
