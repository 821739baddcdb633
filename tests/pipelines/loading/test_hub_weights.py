"""Weights from the hub: exactly the files that will be read, and one sentence for everything that can go wrong."""

from __future__ import annotations

import errno
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import errors
from huggingface_hub.utils import filter_repo_objects

from diffprof.errors import DiffprofError, RequestError, UnsafeModelError
from diffprof.pipelines.loading import free_memory
from diffprof.pipelines.loading.weights import load_pipeline
from diffprof.record.progress import Activity, ProgressEvent
from tests.pipelines.loadable import saved_with_weights
from tests.pipelines.plans.test_hub import http

HUB_ID = "someone/some-model"


@dataclass
class Hub:
    """Stands in for the hub: hands out the files of one folder and notes which."""

    repository: Path
    cache: Path
    fetched: list[str] = field(default_factory=list)
    revisions: set[str | None] = field(default_factory=set)
    failure: Exception | None = None
    while_fetching_weights: Exception | None = None

    def info(self, *_: Any, revision: str | None = None, **__: Any) -> None:
        self.revisions.add(revision)
        if self.failure is not None:
            raise self.failure

    def names(self, *_: Any, revision: str | None = None) -> list[str]:
        self.revisions.add(revision)
        return [str(path.relative_to(self.repository)) for path in self.repository.rglob("*") if path.is_file()]

    def download(self, hub_id: str, name: str, local_files_only: bool = False, revision: str | None = None) -> str:
        return str(self.snapshot(hub_id, [name], local_files_only, revision=revision) / name)

    def snapshot(
        self,
        hub_id: str,
        allow_patterns: list[str],
        local_files_only: bool = False,
        tqdm_class: Any = None,
        revision: str | None = None,
    ) -> Path:
        self.revisions.add(revision)
        if local_files_only:
            if not self.cache.exists():
                raise errors.LocalEntryNotFoundError("not here")
            return self.cache
        if tqdm_class is not None and self.while_fetching_weights is not None:
            raise self.while_fetching_weights
        for name in filter_repo_objects(self.names(revision=revision), allow_patterns=allow_patterns):
            self.fetched.append(name)
            (self.cache / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.repository / name, self.cache / name)
            if tqdm_class is not None:
                bar = tqdm_class(desc="bytes", unit="B", total=0)
                bar.total += (self.repository / name).stat().st_size
                bar.update((self.repository / name).stat().st_size)
        return self.cache

    @property
    def weights(self) -> set[str]:
        return {name for name in self.fetched if not name.endswith((".json", ".txt"))}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    stand_in = Hub(saved_with_weights("stable-diffusion", tmp_path / "repository"), tmp_path / "hub-cache")
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", stand_in.info)
    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_files", stand_in.names)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", stand_in.download)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", stand_in.snapshot)
    return stand_in


WEIGHTS = {
    "unet/diffusion_pytorch_model.safetensors",
    "vae/diffusion_pytorch_model.safetensors",
    "text_encoder/model.safetensors",
}


def test_only_the_files_that_are_read_are_fetched(hub: Hub) -> None:
    others = ("unet/diffusion_pytorch_model.bin", "all.safetensors", "unet/modeling.py", "unet/model.onnx")
    for name in (*others, "unet/diffusion_pytorch_model.non_ema.safetensors"):
        (hub.repository / name).write_bytes(b"more")
    loaded = load_pipeline(HUB_ID)
    assert hub.weights == WEIGHTS
    assert (loaded.opened.name, loaded.opened.source) == (HUB_ID, "hub")


@pytest.mark.parametrize(("dtype", "name"), [("float16", "unet/a.fp16"), ("float32", "unet/a")])
def test_the_variant_of_the_dtype_is_fetched_where_there_is_one(dtype: str, name: str, hub: Hub) -> None:
    stem = "unet/diffusion_pytorch_model"
    shutil.copy(hub.repository / f"{stem}.safetensors", hub.repository / f"{stem}.fp16.safetensors")
    load_pipeline(HUB_ID, dtype=dtype)
    fetched = f"{name.replace('unet/a', stem)}.safetensors"
    assert {one for one in hub.weights if one.startswith("unet/")} == {fetched}


def test_all_files_of_an_index_are_fetched(hub: Hub) -> None:
    from tests.small_pipelines import SMALL_PIPELINES

    shutil.rmtree(hub.repository)
    SMALL_PIPELINES["stable-diffusion"].build().save_pretrained(hub.repository, max_shard_size="100KB")
    load_pipeline(HUB_ID)
    shards = {str(path.relative_to(hub.repository)) for path in hub.repository.rglob("*.safetensors")}
    assert hub.weights == shards
    assert len(shards) > 3


def test_progress_counts_bytes(hub: Hub) -> None:
    events: list[ProgressEvent] = []
    load_pipeline(HUB_ID, progress=events.append)
    size = (hub.repository / "unet/diffusion_pytorch_model.safetensors").stat().st_size
    assert ProgressEvent(Activity.fetching, HUB_ID, size, size) in events


def test_without_a_network_what_was_fetched_before_is_enough(hub: Hub) -> None:
    load_pipeline(HUB_ID)
    hub.failure = ConnectionError("no route")
    load_pipeline(HUB_ID)
    (hub.cache / "unet/diffusion_pytorch_model.safetensors").unlink()
    with pytest.raises(RequestError, match=r"unet/diffusion_pytorch_model\.safetensors is missing"):
        load_pipeline(HUB_ID)


FAILURES: dict[str, tuple[Exception, type[DiffprofError], str]] = {
    "no network": (ConnectionError("no route"), DiffprofError, "are not on this machine and the hub cannot be reached"),
    "a gated model": (http(errors.GatedRepoError, 403), RequestError, "is gated"),
    "a model that is not there": (http(errors.RepositoryNotFoundError, 404), RequestError, "the hub has no model"),
    "a hub that is out of order": (http(errors.HfHubHTTPError, 503), DiffprofError, "the hub did not answer"),
}


@pytest.mark.parametrize(("failure", "kind", "words"), FAILURES.values(), ids=FAILURES.keys())
def test_an_error_of_the_hub_is_one_message(
    failure: Exception, kind: type[DiffprofError], words: str, hub: Hub
) -> None:
    hub.failure = failure
    with pytest.raises(kind, match=words):
        load_pipeline(HUB_ID)


def test_a_name_of_the_catalogue_has_its_weights_on_the_hub(hub: Hub) -> None:
    hub.failure = ConnectionError("no route")
    with pytest.raises(DiffprofError, match=r"the weights of stabilityai/stable-diffusion-xl-base-1\.0 .*--random"):
        load_pipeline("sdxl")


def test_a_full_disk_is_reported_as_such(hub: Hub) -> None:
    hub.while_fetching_weights = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(DiffprofError, match="the disk is full"):
        load_pipeline(HUB_ID)


def test_pickled_weights_are_not_fetched(hub: Hub) -> None:
    (hub.repository / "unet/diffusion_pytorch_model.safetensors").unlink()
    (hub.repository / "unet/diffusion_pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(UnsafeModelError, match=f"{HUB_ID}/unet has the weights of unet only as a pickle"):
        load_pipeline(HUB_ID)
    assert hub.weights == set()


def test_what_does_not_fit_is_rejected_before_it_is_fetched(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_memory, "available_bytes", lambda: 500_000)
    with pytest.raises(DiffprofError, match="does not fit"):
        load_pipeline(HUB_ID)
    assert hub.weights == set()


def test_a_revision_is_asked_for_everywhere(hub: Hub) -> None:
    load_pipeline(HUB_ID, device="cpu", revision="v1.1")
    assert hub.revisions == {"v1.1"}


def test_a_revision_that_the_hub_does_not_have_is_named(hub: Hub) -> None:
    hub.failure = http(errors.RevisionNotFoundError, 404)
    with pytest.raises(RequestError, match="some-model has no revision v9 on the hub; leave out --revision"):
        load_pipeline(HUB_ID, device="cpu", revision="v9")


def test_a_variant_is_fetched_where_it_is_there_and_refused_where_no_component_has_it(hub: Hub) -> None:
    with pytest.raises(RequestError, match="some-model has no weights of the variant ema; leave out --variant"):
        load_pipeline(HUB_ID, device="cpu", variant="ema")
    assert hub.weights == set(), "nothing large was fetched for it"
    unet = hub.repository / "unet"
    (unet / "diffusion_pytorch_model.safetensors").rename(unet / "diffusion_pytorch_model.ema.safetensors")
    load_pipeline(HUB_ID, device="cpu", variant="ema")
    assert "unet/diffusion_pytorch_model.ema.safetensors" in hub.weights
    assert "vae/diffusion_pytorch_model.safetensors" in hub.weights


@pytest.mark.parametrize("files", [{"revision": "main"}, {"variant": "fp16"}])
def test_random_weights_have_neither(files: dict[str, str]) -> None:
    with pytest.raises(RequestError, match="random weights are in no file"):
        load_pipeline("shapes", device="cpu", random_weights=True, **files)


def test_a_folder_has_no_revision(hub: Hub) -> None:
    with pytest.raises(RequestError, match="is on this machine; leave it out"):
        load_pipeline(hub.repository, device="cpu", revision="main")
