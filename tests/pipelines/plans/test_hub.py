"""A hub id that the catalogue does not have: only JSON and tokenizer files are fetched, then it is a folder."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import errors
from huggingface_hub.utils import filter_repo_objects

import diffprof
from diffprof import catalogue
from diffprof.errors import DiffprofError, RequestError, UnsafeModelError
from diffprof.pipelines.opening import open_virtual
from diffprof.pipelines.plans.controlnet_folders import base_of_controlnet, folder_of
from diffprof.pipelines.plans.folder import from_folder
from diffprof.pipelines.plans.hub import fetch_component, fetch_configuration
from diffprof.pipelines.plans.source import component_blueprint
from tests.cli.conftest import Run
from tests.pipelines.folders import edit

HUB_ID = "someone/some-model"


@dataclass
class Hub:
    """Stands in for the hub: hands out the files of one folder and notes which."""

    repository: Path
    cache: Path
    fetched: list[str] = field(default_factory=list)
    failure: Exception | None = None
    """What asking it ends with."""

    def answer(self, *_: Any, **__: Any) -> None:
        if self.failure is not None:
            raise self.failure

    def download(self, hub_id: str, name: str, local_files_only: bool = False, revision: str | None = None) -> str:
        path = self.snapshot(hub_id, [name], local_files_only) / name
        if not path.is_file():
            raise errors.EntryNotFoundError(name)
        return str(path)

    def snapshot(
        self, hub_id: str, allow_patterns: list[str], local_files_only: bool = False, revision: str | None = None
    ) -> Path:
        assert hub_id == HUB_ID
        if local_files_only:
            if (self.cache / "model_index.json").exists():
                return self.cache
            raise errors.LocalEntryNotFoundError("not here")
        names = [str(path.relative_to(self.repository)) for path in self.repository.rglob("*") if path.is_file()]
        for name in filter_repo_objects(names, allow_patterns=allow_patterns):
            self.fetched.append(name)
            (self.cache / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.repository / name, self.cache / name)
        return self.cache


@pytest.fixture
def hub(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    stand_in = Hub(model, tmp_path / "hub-cache")
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", stand_in.answer)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", stand_in.download)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", stand_in.snapshot)
    return stand_in


WEIGHTS = (
    "unet/diffusion_pytorch_model.safetensors",
    "unet/diffusion_pytorch_model.bin",
    "text_encoder/model.safetensors",
    "text_encoder/pytorch_model.bin",
    "vae/model.ckpt",
    "unet/model.onnx",
    "sd.safetensors",
    "pipeline.py",
    "unet/modeling.py",
    "README.md",
    "tokenizer/notes.txt",
    "other/config.json",
)


def test_only_configuration_and_tokenizer_files_are_fetched(hub: Hub) -> None:
    for name in WEIGHTS:
        (hub.repository / name).parent.mkdir(exist_ok=True)
        (hub.repository / name).write_bytes(b"weights")
    done = diffprof.profile(HUB_ID, num_inference_steps=1)
    assert set(hub.fetched).isdisjoint(WEIGHTS)
    assert {"model_index.json", "unet/config.json", "tokenizer/tokenizer.json"} <= set(hub.fetched)
    assert (done.request.source, done.request.model) == ("hub", HUB_ID)


def test_a_hub_model_costs_what_its_folder_costs(hub: Hub) -> None:
    assert diffprof.profile(HUB_ID).total == diffprof.profile(hub.repository).total


def test_a_hub_model_is_given_a_name_of_ones_own(
    hub: Hub, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIFFPROF_CATALOGUE_DIR", str(tmp_path / "entries"))
    expected = diffprof.profile(HUB_ID, num_inference_steps=1)
    ended = run("models", "add", HUB_ID, "--name", "our-model", "--licence", "mit", "-q")
    assert (ended.code, ended.err) == (0, "")
    entry = catalogue.find("our-model")
    assert entry is not None
    assert (entry.hub_id, entry.path, entry.licence) == (HUB_ID, None, "mit")
    hub.failure = ConnectionError("no route")
    shutil.rmtree(hub.cache)
    named = diffprof.profile("our-model", num_inference_steps=1)
    assert (named.request.source, named.total) == ("catalogue", expected.total)


def test_models_of_the_catalogue_are_not_looked_up_on_the_hub(hub: Hub) -> None:
    diffprof.profile("stabilityai/stable-diffusion-2-1-base", height=64, width=64, num_inference_steps=1)
    assert hub.fetched == []


def test_without_a_network_what_was_fetched_before_is_enough(hub: Hub) -> None:
    before = diffprof.profile(HUB_ID)
    hub.failure = ConnectionError("no route")
    assert diffprof.profile(HUB_ID).total == before.total


def http(kind: type[errors.HfHubHTTPError], status: int) -> Exception:
    """As the hub's answer makes them; which HTTP library the answer is of changes with the version."""
    return kind("no", response=SimpleNamespace(headers={}, request=None, status_code=status))  # type: ignore[arg-type]


class NoConnectionError(Exception):
    """What an HTTP library may raise."""


FAILURES: dict[str, tuple[Exception, type[DiffprofError], int, str]] = {
    "no network": (ConnectionError("no route"), DiffprofError, 1, "the hub cannot be reached"),
    "a network that is silent": (TimeoutError(), DiffprofError, 1, "the hub cannot be reached"),
    "a connection that breaks": (NoConnectionError(), DiffprofError, 1, "the hub cannot be reached"),
    "offline mode": (errors.OfflineModeIsEnabled("off"), DiffprofError, 1, "the hub cannot be reached"),
    "a gated model": (http(errors.GatedRepoError, 403), RequestError, 2, "is gated"),
    "a model that is not there": (http(errors.RepositoryNotFoundError, 404), RequestError, 2, "the hub has no model"),
    "a hub that is out of order": (http(errors.HfHubHTTPError, 503), DiffprofError, 1, "the hub did not answer"),
}


@pytest.mark.parametrize(("failure", "kind", "code", "words"), FAILURES.values(), ids=FAILURES.keys())
def test_an_error_of_the_hub_is_one_message(
    failure: Exception, kind: type[DiffprofError], code: int, words: str, hub: Hub, run: Run
) -> None:
    hub.failure = failure
    with pytest.raises(kind) as refusal:
        diffprof.profile(HUB_ID)
    assert HUB_ID in str(refusal.value)
    ended = run("profile", HUB_ID)
    assert (ended.code, ended.out) == (code, "")
    assert words in ended.err
    assert ended.err.count("\n") == 1
    assert not hub.fetched


def test_a_repository_that_is_not_a_pipeline_is_rejected(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_entry(*_: Any, **__: Any) -> None:
        raise errors.EntryNotFoundError("404")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", no_entry)
    with pytest.raises(RequestError, match=r"no model_index\.json"):
        diffprof.profile(HUB_ID)


def test_a_component_by_itself_is_what_its_folder_is(hub: Hub, model: Path) -> None:
    hub.repository = model / "unet"
    alone = component_blueprint(HUB_ID, "unet")
    assert (alone.source, alone.parts["unet"].class_name) == ("hub", "UNet2DConditionModel")
    assert alone.parts["unet"].config == component_blueprint(model, "unet").parts["unet"].config


def test_each_file_of_a_pipeline_is_asked_for_once(hub: Hub) -> None:
    open_virtual(HUB_ID, None, None)
    assert hub.fetched.count("unet/config.json") == 1


def test_files_beside_the_index_are_fetched_too(hub: Hub, model: Path) -> None:
    (model / "unet" / "config.json").rename(model / "config.json")
    (model / "unet").rmdir()
    assert (fetch_configuration(HUB_ID) / "config.json").is_file()


def test_a_controlnet_by_itself_is_counted_with_the_model_it_was_made_for(hub: Hub, tmp_path: Path) -> None:
    hub.repository = tmp_path / "net"
    hub.repository.mkdir()
    config = {"_class_name": "ControlNetModel", "cross_attention_dim": 768}
    (hub.repository / "config.json").write_text(json.dumps(config))
    assert base_of_controlnet(folder_of(HUB_ID)) == (hub.cache, "sd-1.5")


def test_components_of_a_modular_pipeline_are_fetched_from_where_the_index_says(hub: Hub, model: Path) -> None:
    (model / "unet").rename(model / "denoiser")
    edit(model / "model_index.json", lambda index: index.update(
        _class_name="StableDiffusionXLModularPipeline",
        unet=["diffusers", "UNet2DConditionModel", {"subfolder": "denoiser", "repo": HUB_ID}],
        vae=["diffusers", "AutoencoderKL", {"subfolder": "", "repo": "others/vae", "revision": "abc"}],
    ))  # fmt: skip
    shutil.rmtree(model / "vae")
    asked = []

    def fetch(*where: str | None) -> Path:
        asked.append(where)
        return model / "text_encoder"

    parts = from_folder(fetch_configuration(HUB_ID), HUB_ID, fetch=fetch).parts
    assert parts["unet"].folder == hub.cache / "denoiser"
    assert (asked, parts["vae"].folder) == ([("others/vae", "", "abc")], model / "text_encoder")


def test_the_configuration_of_one_component_of_a_repository_is_fetched(hub: Hub) -> None:
    assert fetch_component(HUB_ID, "unet") == hub.cache / "unet"
    assert set(hub.fetched) == {"unet/config.json"}


def test_code_of_a_hub_model_is_neither_fetched_nor_run(hub: Hub) -> None:
    edit(hub.repository / "model_index.json", lambda index: index.update(_class_name=["pipeline", "Mine"]))
    (hub.repository / "pipeline.py").write_text("import os; os._exit(3)")
    with pytest.raises(UnsafeModelError):
        diffprof.profile(HUB_ID)
    assert "pipeline.py" not in hub.fetched
