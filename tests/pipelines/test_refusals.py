"""Whatever is wrong with a request is one sentence and an exit code; nothing runs, nothing is written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import diffprof
from diffprof.errors import DiffprofError, PipelineError, RequestError, UnsafeModelError
from tests.cli.conftest import Run
from tests.pipelines.folders import edit, saved
from tests.small_pipelines import SMALL_PIPELINES

Damage = Callable[[Path], object]


def index(**changes: Any) -> Damage:
    return lambda model: edit(model / "model_index.json", lambda content: content.update(changes))


def config(slot: str, **changes: Any) -> Damage:
    return lambda model: edit(model / slot / "config.json", lambda content: content.update(changes))


def text(path: str, content: str | bytes) -> Damage:
    return lambda model: (model / path).write_bytes(content.encode() if isinstance(content, str) else content)


UNSAFE: dict[str, tuple[Damage, str]] = {
    "a pipeline class of its own": (index(_class_name=["pipeline", "MyPipeline"]), "pipeline code of its own"),
    "a pipeline that diffusers does not have": (
        index(_class_name="MyPipeline"),
        "diffusers has no pipeline MyPipeline",
    ),
    "a pipeline class that is none": (
        index(_class_name="UNet2DConditionModel"),
        "has no pipeline UNet2DConditionModel",
    ),
    "a pipeline name that is a path": (index(_class_name="os.system"), "has no pipeline os.system"),
    "a class of another library": (index(unet=["my_package", "UNet"]), "my_package.UNet"),
    "a class of the standard library": (index(unet=["os", "system"]), "os.system"),
    "a class of a submodule": (index(unet=["diffusers.utils", "os"]), "diffusers.utils.os"),
    "a class of torch": (index(unet=["torch.nn", "Linear"]), "torch.nn.Linear"),
    "a function of transformers": (index(unet=["transformers", "pipeline"]), "transformers.pipeline"),
    "a component by a path": (index(**{"../outside": ["diffusers", "UNet2DConditionModel"]}), "outside of its folder"),
    "an absolute path": (index(**{"/etc": ["diffusers", "UNet2DConditionModel"]}), "outside of its folder"),
    "code for a config": (config("unet", auto_map={"AutoModel": "modeling.MyModel"}), "auto_map"),
    "code for a text encoder": (config("text_encoder", auto_map={"AutoModel": "x.y"}), "auto_map"),
    "code for a config inside of a config": (
        config("text_encoder", vision_config={"auto_map": {"AutoModel": "x.y"}}),
        "auto_map",
    ),
    "a tokenizer of another library": (index(tokenizer=["my_package", "CLIPTokenizer"]), "my_package.CLIPTokenizer"),
    "a slot that the pipeline does not have": (index(extra=["my_package", "Extra"]), "my_package.Extra"),
    "a safety checker of another library": (index(safety_checker=["my_package", "Checker"]), "my_package.Checker"),
    "a class that is no component": (index(unet=["transformers", "TrainingArguments"]), "it is no component"),
    "the base of all pipelines": (index(_class_name="DiffusionPipeline"), "has no pipeline DiffusionPipeline"),
    "the folder above": (index(**{"..": ["diffusers", "UNet2DConditionModel"]}), "outside of its folder"),
    "trust in remote code": (config("unet", trust_remote_code=True), "trust_remote_code"),
}


@pytest.mark.parametrize(("damage", "words"), UNSAFE.values(), ids=UNSAFE.keys())
def test_code_of_other_origin_is_refused_and_not_run(damage: Damage, words: str, model: Path, run: Run) -> None:
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


def assert_one_sentence(err: str, words: str) -> None:
    assert err.startswith("diffprof: error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert "a bug in diffprof" not in err
    assert words in err


BROKEN: dict[str, tuple[Damage, str]] = {
    "no index": (lambda model: (model / "model_index.json").unlink(), "no model_index.json"),
    "an index that is not JSON": (text("model_index.json", "{"), "not valid JSON"),
    "an index that is a list": (text("model_index.json", "[]"), "does not hold a JSON object"),
    "an index that is not text": (text("model_index.json", b"\xff\xfe\x00"), "not valid JSON"),
    "an index of a thousand brackets": (text("model_index.json", "[" * 100_000), "not valid JSON"),
    "a config that is not JSON": (text("unet/config.json", "nonsense"), "not valid JSON"),
    "a config that is empty": (text("unet/config.json", ""), "not valid JSON"),
    "a missing component": (lambda model: shutil.rmtree(model / "unet"), "has no config file"),
    "a missing config": (lambda model: (model / "vae" / "config.json").unlink(), "has no config file"),
    "a class that does not exist": (index(unet=["diffusers", "UNet9D"]), "has no class UNet9D"),
    "a transformers class that does not exist": (index(text_encoder=["transformers", "Nope"]), "has no class Nope"),
    "a value of a wrong type": (config("unet", block_out_channels="many"), "cannot be built"),
    "a value that cannot be": (config("unet", down_block_types=["Nonsense", "DownBlock2D"]), "cannot be built"),
    "a text encoder that cannot be": (config("text_encoder", hidden_size=-1), "cannot be built"),
    "a scheduler that cannot be": (
        lambda model: edit(model / "scheduler" / "scheduler_config.json", lambda c: c.update(beta_schedule="x")),
        "cannot be built",
    ),
    "a broken tokenizer": (text("tokenizer/tokenizer.json", "{"), "tokenizer files"),
}


@pytest.mark.parametrize(("damage", "words"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_folder_is_refused_with_what_is_wrong(damage: Damage, words: str, model: Path, run: Run) -> None:
    damage(model)
    with pytest.raises(RequestError) as refusal:
        diffprof.profile(model)
    assert words in str(refusal.value)
    ended = run("profile", str(model))
    assert (ended.code, ended.out) == (2, "")
    assert_one_sentence(ended.err, words)


WRONG_REQUESTS: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "height 0": ({"height": 0}, ("--height", "0"), "height"),
    "a negative width": ({"width": -8}, ("--width", "-8"), "width"),
    "an absurd height": ({"height": 10**9}, ("--height", "1000000000"), "height"),
    "0 steps": ({"num_inference_steps": 0}, ("--steps", "0"), "steps"),
    "negative steps": ({"num_inference_steps": -3}, ("--steps", "-3"), "steps"),
    "0 pictures": ({"num_images_per_prompt": 0}, ("--batch", "0"), ""),
    "an unknown argument": ({"prompd": "a cat"}, ("--set", "prompd=a cat"), "did you mean prompt"),
    "frames of a picture": ({"num_frames": 16}, ("--frames", "16"), "num_frames"),
    "an unknown dtype": ({"dtype": "float3"}, ("--dtype", "float3"), "float3"),
    "an unknown scheduler": ({"scheduler": "hoin"}, ("--scheduler", "hoin"), "hoin"),
    "an unknown switch": ({"enable": "vae_tilink"}, ("--enable", "vae_tilink"), "vae_tiling"),
}


@pytest.mark.parametrize(("arguments", "options", "words"), WRONG_REQUESTS.values(), ids=WRONG_REQUESTS.keys())
def test_a_wrong_request_is_refused(
    arguments: dict[str, Any], options: tuple[str, ...], words: str, model: Path, tmp_path: Path, run: Run
) -> None:
    with pytest.raises(RequestError) as refusal:
        diffprof.profile(model, **arguments)
    assert words in str(refusal.value)
    ended = run("profile", str(model), *options, "-o", str(tmp_path / "p.json"))
    assert (ended.code, ended.out) == (2, "")
    assert_one_sentence(ended.err, words)
    assert not (tmp_path / "p.json").exists()


@pytest.mark.parametrize("value", [512.0, "512", True])
def test_a_size_that_is_no_whole_number_is_refused(value: Any, model: Path) -> None:
    with pytest.raises(RequestError, match="height"):
        diffprof.profile(model, height=value)


REFUSED_BY_THE_PIPELINE: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a size that is not divisible": ({"height": 33, "width": 33}, ("--height", "33", "--width", "33")),
    "a prompt that is a number": ({"prompt": 5}, ("--set", "prompt=5")),
}


@pytest.mark.parametrize(("arguments", "options"), REFUSED_BY_THE_PIPELINE.values(), ids=REFUSED_BY_THE_PIPELINE.keys())
def test_what_the_pipeline_refuses_is_said_in_its_own_words(
    arguments: dict[str, Any], options: tuple[str, ...], model: Path, tmp_path: Path, run: Run
) -> None:
    with pytest.raises(PipelineError, match="StableDiffusionPipeline refused the call: ") as refusal:
        diffprof.profile(model, **arguments)
    ended = run("profile", str(model), *options, "-o", str(tmp_path / "p.json"))
    assert ended.code == 1
    assert_one_sentence(ended.err, "StableDiffusionPipeline refused the call: ")
    assert " ".join(str(refusal.value).split())[:60] in ended.err
    assert not (tmp_path / "p.json").exists()


def test_an_unknown_model_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(RequestError, match=r"did you mean sdxl"):
        diffprof.profile("sdlx")


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "~/nowhere-at-all"])
def test_a_folder_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(RequestError, match="no folder"):
        diffprof.profile(name)


def test_a_file_is_refused_as_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    for name in ("p.json", "./p.json", tmp_path / "p.json"):
        with pytest.raises(RequestError):
            diffprof.profile(name)


@pytest.mark.parametrize("thing", [None, 5, object(), ["sdxl"], dict])
def test_what_is_no_pipeline_is_refused(thing: Any) -> None:
    with pytest.raises(RequestError, match="cannot profile a"):
        diffprof.profile(thing)


def test_a_dtype_for_an_object_is_refused() -> None:
    with pytest.raises(RequestError, match=r"pipe\.to\(dtype\)"):
        diffprof.profile(SMALL_PIPELINES["stable-diffusion"].build(), dtype="float16")


def test_a_needed_argument_without_a_stand_in_is_asked_for(tmp_path: Path) -> None:
    """Attend-and-excite cannot be called without the words that it is to attend to."""
    pipeline = SMALL_PIPELINES["stable-diffusion-attend-and-excite"].build()
    with pytest.raises(RequestError, match="needs the call argument 'token_indices'"):
        diffprof.profile(pipeline)


def test_an_interruption_leaves_no_file_and_no_cache(
    model: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers import UNet2DConditionModel

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(UNet2DConditionModel, "forward", interrupt)
    ended = run("profile", str(model), "-o", str(tmp_path / "p.json"))
    assert (ended.code, ended.out, ended.err) == (130, "", "diffprof: interrupted.\n")
    assert not list(tmp_path.glob("p.json*"))
    assert not list((tmp_path / "diffprof-cache").rglob("*.json*"))


def test_all_refusals_are_errors_of_diffprof() -> None:
    assert issubclass(UnsafeModelError, RequestError)
    assert issubclass(RequestError, DiffprofError)
    assert (RequestError("").exit_code, PipelineError("").exit_code) == (2, 1)


def test_the_command_line_counts_a_folder(tmp_path: Path, run: Run) -> None:
    model = saved("stable-diffusion", tmp_path / "model")
    ended = run("profile", str(model), "--steps", "2", "--json", "-o", str(tmp_path / "p.json"))
    assert ended.code == 0, ended.err
    assert diffprof.load(tmp_path / "p.json").total.macs == diffprof.profile(model, num_inference_steps=2).total.macs


def test_a_config_that_asks_for_a_billion_layers_is_refused_before_they_are_made(model: Path) -> None:
    config("unet", layers_per_block=10**9)(model)
    with pytest.raises(RequestError, match="more than 100,000 modules"):
        diffprof.profile(model)
