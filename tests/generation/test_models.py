"""`get_model_manager`: models are loaded once, kept, shared by threads, and really gone when they are unloaded."""

from __future__ import annotations

import gc
import shutil
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
import torch

from diffprof.catalogue import find
from diffprof.errors import DiffprofError, RequestError
from diffprof.generation import models
from diffprof.generation.models import ModelManager, model_of, release_memory
from diffprof.pipelines.components import components_of, weight_bytes
from tests.pipelines.loadable import saved_with_weights


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_with_weights("stable-diffusion", tmp_path_factory.mktemp("models") / "one")


@pytest.fixture(scope="module")
def two(one: Path) -> Path:
    return Path(shutil.copytree(one, one.with_name("two")))


@pytest.fixture(scope="module")
def three(one: Path) -> Path:
    return Path(shutil.copytree(one, one.with_name("three")))


@pytest.fixture
def manager() -> Iterator[ModelManager]:
    made = ModelManager(device="cpu")
    yield made
    made.unload_all()


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were really loaded, in order."""
    real, loaded = models.load_pipeline, []

    def load(model: Any, **options: Any) -> Any:
        loaded.append(Path(model).name)
        return real(model, **options)

    monkeypatch.setattr(models, "load_pipeline", load)
    return loaded


def size_of(manager: ModelManager, model: Path) -> int:
    pipeline = manager.load_model(model)
    return sum(weight_bytes(part) for part in components_of(pipeline).values())


def names(manager: ModelManager) -> list[str]:
    return [model.name for model in manager.list_models()]


def test_a_model_is_loaded_once_whatever_it_is_called(
    manager: ModelManager, one: Path, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = manager.load_model(one)
    monkeypatch.chdir(one.parent)
    assert manager.load_model("./one") is pipeline
    assert manager.load_model(str(one)) is pipeline
    assert loads == ["one"]


def test_another_dtype_is_another_model(manager: ModelManager, one: Path) -> None:
    full, half = manager.load_model(one), manager.load_model(one, dtype="bfloat16")
    assert (full.unet.dtype, half.unet.dtype) == (torch.float32, torch.bfloat16)
    assert [model.dtype for model in manager.list_models()] == ["bfloat16", "float32"]
    assert manager.unload_model(one)
    assert manager.list_models() == ()


def test_the_list_says_what_is_held(manager: ModelManager, one: Path, two: Path) -> None:
    manager.load_model(one)
    with manager.using(two):
        latest, first = manager.list_models()
    assert (latest.name, latest.in_use, first.name, first.in_use) == ("two", True, "one", False)
    assert (latest.pipeline, latest.device, latest.offload) == ("StableDiffusionPipeline", "cpu", None)
    assert latest.weight_bytes == size_of(manager, two) > 100_000
    assert latest.load_seconds > 0


def test_offloaded_weights_are_reported_as_offloaded(manager: ModelManager, one: Path) -> None:
    manager.load_model(one, offload="group")
    assert [model.offload for model in manager.list_models()] == ["group"]


@pytest.mark.parametrize("offload", [None, "group"])
def test_an_unloaded_model_is_really_gone(manager: ModelManager, one: Path, offload: str | None) -> None:
    pipeline = manager.load_model(one, offload=offload)
    alive = [weakref.ref(pipeline), *(weakref.ref(part) for part in components_of(pipeline).values())]
    del pipeline
    gc.disable()  # it must not depend on when the collector happens to run
    try:
        assert manager.unload_model(one)
    finally:
        gc.enable()
    assert [reference() for reference in alive] == [None] * len(alive)
    assert not manager.unload_model(one)


def test_memory_goes_back_to_the_system(manager: ModelManager, one: Path) -> None:
    size = 200 * 2**20
    with manager.using(one) as held:
        # As large as a real model: what is small the allocator may keep.
        held.pipeline.unet.register_buffer("ballast", torch.ones(size // 4))
        held.pipeline.unet.register_buffer("crumbs", torch.zeros(0))
        held.pipeline.unet.small = [torch.ones(2000) for _ in range(size // 8000)]
    before = psutil.Process().memory_info().rss
    del held
    manager.unload_model(one)
    freed = before - psutil.Process().memory_info().rss
    assert freed > 1.5 * size  # of both: the allocator keeps some pages that the small ones share with others


def test_a_model_that_is_unloaded_while_it_is_used_stays_until_then(manager: ModelManager, one: Path) -> None:
    with manager.using(one) as held:
        alive = weakref.ref(held.pipeline)
        assert manager.unload_model(one)
        assert manager.list_models() == ()
        assert held.pipeline.unet is not None
    del held
    gc.collect()
    assert alive() is None


def test_the_model_that_was_not_used_for_longest_leaves(
    one: Path, two: Path, three: Path, manager: ModelManager, loads: list[str]
) -> None:
    limited = ModelManager(device="cpu", memory_limit=2 * size_of(manager, one) + 1)
    limited.load_model(one)
    limited.load_model(two)
    limited.load_model(one)
    limited.load_model(three)
    assert names(limited) == ["three", "one"]
    loads.clear()
    limited.load_model(two)
    assert loads == ["two"]
    assert names(limited) == ["two", "three"]


def test_a_model_in_use_does_not_leave(one: Path, two: Path, three: Path, manager: ModelManager) -> None:
    limited = ModelManager(device="cpu", memory_limit=2 * size_of(manager, one) + 1)
    with limited.using(one):
        limited.load_model(two)
        limited.load_model(three)
        assert names(limited) == ["three", "one"]


def test_a_model_that_is_unloaded_in_the_moment_it_is_there_can_be_used(manager: ModelManager, one: Path) -> None:
    class Unloaded(dict[Any, Any]):
        """What is held, where another thread unloads at once whatever comes."""

        def __setitem__(self, key: Any, value: Any) -> None:
            pass

    manager._entries = Unloaded()
    with manager.using(one) as held:
        assert held.pipeline.unet is not None
    assert held.users == []


def test_memory_of_any_accelerator_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    emptied: list[torch.device] = []
    module = SimpleNamespace(empty_cache=lambda: emptied.append(torch.device("cuda")))
    monkeypatch.delattr(torch.accelerator, "empty_cache", raising=False)  # torch before 2.9
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch, "get_device_module", lambda device: module)
    release_memory()
    assert len(emptied) == 1


def test_a_model_larger_than_the_limit_is_rejected_before_its_weights_are_read(
    one: Path, manager: ModelManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("diffprof.pipelines.loading.weights.load_model", None)
    monkeypatch.setenv("DIFFPROF_MODEL_MEMORY_LIMIT", "100kB")
    with pytest.raises(RequestError, match=r"one has .* of weights, more than the limit of 100.00 KB; raise model_mem"):
        manager.load_model(one)
    assert manager.list_models() == ()


def test_idle_models_are_unloaded_when_memory_is_short(
    one: Path, two: Path, manager: ModelManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.load_model(one)
    free = iter([0, 10**12])
    monkeypatch.setattr(models, "free_bytes", lambda device: next(free))
    manager.load_model(two)
    assert names(manager) == ["two"]


def test_a_load_that_fails_leaves_nothing_behind(manager: ModelManager, one: Path, tmp_path: Path) -> None:
    broken = Path(shutil.copytree(one, tmp_path / "broken"))
    (broken / "unet" / "diffusion_pytorch_model.safetensors").write_bytes(b"no weights")
    for _ in range(2):
        with pytest.raises(DiffprofError, match=r"diffusion_pytorch_model\.safetensors"):
            manager.load_model(broken)
    assert manager.list_models() == ()


def test_an_unknown_model_is_rejected_with_a_hint(manager: ModelManager) -> None:
    with pytest.raises(RequestError, match=r"Unknown model 'sd-2.1-bas'; did you mean sd-2.1-base"):
        manager.load_model("sd-2.1-bas")
    with pytest.raises(RequestError, match="There is no folder"):
        manager.load_model("./nowhere")


@pytest.mark.parametrize("name", ["a" * 300, "a" * 5000, "a\0b"])
def test_a_name_that_no_file_can_have_is_an_unknown_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIFFPROF_MODEL_DIRS", str(tmp_path))
    with pytest.raises(RequestError, match="Unknown model"):
        model_of(name)
    with pytest.raises(RequestError, match="There is no folder"):
        model_of(f"./{name}")


def test_names_of_the_catalogue_and_of_the_hub_are_one_model() -> None:
    entry = find("sd-2.1-base")
    assert entry is not None
    by_name, by_hub_id = model_of("sd-2.1-base"), model_of("stabilityai/stable-diffusion-2-1-base")
    assert by_name.place == by_hub_id.place == "sd-2.1-base"
    assert by_hub_id.title == entry.title
    assert model_of("SHAPES").place == "shapes"
    assert (model_of("someone/some-model").place, model_of("someone/some-model").name) == (
        "someone/some-model",
        "some-model",
    )


def test_a_model_folder_stands_in_for_the_hub(
    one: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manager: ModelManager
) -> None:
    for name in ("stabilityai/stable-diffusion-2-1-base", "mine"):
        shutil.copytree(one, tmp_path / name)
    monkeypatch.setenv("DIFFPROF_MODEL_DIRS", str(tmp_path))
    known = model_of("sd-2.1-base")
    assert known.place == tmp_path / "stabilityai" / "stable-diffusion-2-1-base"
    assert known.name == "sd-2.1-base"
    assert model_of("mine").place == tmp_path / "mine"
    assert type(manager.load_model("mine")).__name__ == "StableDiffusionPipeline"
    with pytest.raises(RequestError):
        model_of("../" + tmp_path.name + "/mine/nothing")


def test_names_are_fit_for_files(one: Path, tmp_path: Path) -> None:
    strange = Path(shutil.copytree(one, tmp_path / "mödel one: a?"))
    assert model_of(strange).name == "m-del-one--a"
    assert model_of(strange).title == "mödel one: a?"
