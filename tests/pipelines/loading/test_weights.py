"""A pipeline is loaded with all of its weights, or refused in one sentence that names the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from safetensors.torch import load_file, save_file

from diffprof.counting.rehearsal import rehearse
from diffprof.errors import DiffprofError, PipelineError, RequestError, UnsafeModelError
from diffprof.pipelines.components import components_of
from diffprof.pipelines.loading import free_memory
from diffprof.pipelines.loading.weights import RANDOM, load_pipeline, plan_loading
from diffprof.record.progress import Activity, ProgressEvent
from diffprof.record.request import Request
from tests.extensive import split_cases
from tests.pipelines.folders import without_tokenizer_files
from tests.pipelines.loadable import TEXT, UNET, generate_small, saved_with_weights
from tests.pipelines.refusals import Damage, change_index, write_file
from tests.small_pipelines import SMALL_PIPELINES

FAMILIES = ("stable-diffusion", "stable-diffusion-3", "flux", "sana", "wan-2.1", "kandinsky-2.2-combined")


@pytest.fixture
def model(model_with_weights: Path) -> Path:
    """Here the weights matter."""
    return model_with_weights


@pytest.mark.parametrize("name", split_cases(FAMILIES, always=("flux", "kandinsky-2.2-combined")))
def test_a_loaded_pipeline_generates_the_same_image_as_diffusers(name: str, tmp_path: Path) -> None:
    import diffusers

    folder = saved_with_weights(name, tmp_path / "model")
    loaded = load_pipeline(folder, device="cpu")
    theirs = getattr(diffusers, SMALL_PIPELINES[name].class_name).from_pretrained(folder)
    assert numpy.array_equal(generate_small(name, loaded.pipeline), generate_small(name, theirs))
    assert (loaded.opened.source, loaded.opened.assumptions, loaded.device) == ("folder", (), "cpu")


def test_every_weight_is_the_one_that_was_saved(model: Path) -> None:
    original = SMALL_PIPELINES["stable-diffusion"].build()
    loaded = load_pipeline(model)
    for slot, part in components_of(original).items():
        own = components_of(loaded.pipeline)[slot].state_dict()
        assert own.keys() == part.state_dict().keys()
        assert all(torch.equal(own[name], weight) for name, weight in part.state_dict().items())
    assert loaded.parameters == sum(
        weight.numel() for part in components_of(original).values() for weight in part.parameters()
    )
    assert loaded.seconds > 0


def test_weights_have_the_requested_dtype(model: Path) -> None:
    loaded = load_pipeline(model, dtype="bfloat16")
    assert loaded.opened.dtype == "bfloat16"
    assert {weight.dtype for weight in loaded.pipeline.unet.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_of_two_variants_the_one_of_the_dtype_is_read(dtype: str, model: Path) -> None:
    marked = {name: torch.full_like(weight, 0.5) for name, weight in load_file(model / UNET).items()}
    save_file(
        {name: weight.half() for name, weight in marked.items()},
        model / "unet" / "diffusion_pytorch_model.fp16.safetensors",
        {"format": "pt"},
    )
    weight = load_pipeline(model, dtype=dtype).pipeline.unet.conv_in.weight
    assert bool((weight == 0.5).all()) is (dtype == "float16")


def test_a_variant_that_is_alone_is_read_in_any_dtype(model: Path) -> None:
    (model / UNET).rename(model / "unet" / "diffusion_pytorch_model.fp16.safetensors")
    assert load_pipeline(model).pipeline.unet.conv_in.weight.dtype == torch.float32


def test_weights_in_several_files_are_read(tmp_path: Path) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    pipeline.save_pretrained(tmp_path / "model", max_shard_size="100KB")
    assert len(list((tmp_path / "model" / "unet").glob("*.safetensors"))) > 1
    loaded = load_pipeline(tmp_path / "model")
    assert torch.equal(loaded.pipeline.unet.conv_out.weight, pipeline.unet.conv_out.weight)
    assert torch.equal(next(loaded.pipeline.text_encoder.parameters()), next(pipeline.text_encoder.parameters()))


def cut(file: str) -> Damage:
    return lambda model: (model / file).write_bytes((model / file).read_bytes()[:-100])


def as_pickle(model: Path) -> None:
    weights = load_file(model / UNET)
    (model / UNET).unlink()
    torch.save(weights, model / "unet" / "diffusion_pytorch_model.bin")


def index(model: Path, **weight_map: Any) -> None:
    content = json.dumps({"metadata": {}, "weight_map": weight_map})
    (model / "unet" / "diffusion_pytorch_model.safetensors.index.json").write_text(content)


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
REFUSED: dict[str, tuple[Damage, type[DiffprofError], tuple[str, ...]]] = {
    "a missing file": (lambda m: (m / UNET).unlink(), RequestError, (UNET, "is missing", "--random-weights")),
    "a missing file of transformers": (lambda m: (m / TEXT).unlink(), RequestError, (TEXT, "is missing")),
    "a pickle": (as_pickle, UnsafeModelError, ("diffusion_pytorch_model.bin", "pickle", "safetensors")),
    "a file that was cut off": (cut(UNET), RequestError, (UNET, "is damaged")),
    "a text file that was cut off": (cut(TEXT), RequestError, (TEXT, "is damaged")),
    "an empty file": (write_file(UNET, b""), RequestError, (UNET, "it is empty")),
    "a file of something else": (write_file(UNET, b"nonsense" * 100), RequestError, (UNET, "is damaged")),
    "a pointer of git-lfs": (write_file(UNET, POINTER), RequestError, (UNET, "git lfs pull")),
    "an index of a missing file": (
        lambda m: index(m, a="diffusion_pytorch_model-00001-of-00001.safetensors"),
        RequestError,
        ("00001-of-00001.safetensors is missing", "index.json lists it"),
    ),
    "an index of a weight that is elsewhere": (
        lambda m: index(m, **{"no.such.weight": "diffusion_pytorch_model.safetensors"}),
        RequestError,
        (UNET, "has no no.such.weight"),
    ),
    "an index that leads out of the folder": (
        lambda m: index(m, a="../../elsewhere.safetensors"),
        UnsafeModelError,
        ("elsewhere.safetensors",),
    ),
    "an index of a pickle": (lambda m: index(m, a="weights.bin"), UnsafeModelError, ("weights.bin",)),
    "an empty index": (lambda m: index(m), RequestError, ("index.json lists no weight files",)),
    "a missing tokenizer": (without_tokenizer_files, RequestError, ("tokenizer", "vocab.json")),
    "a class of another library": (change_index(unet=["mine", "MyModel"]), UnsafeModelError, ("mine.MyModel",)),
    "a missing scheduler": (
        lambda m: (m / "scheduler" / "scheduler_config.json").unlink(),
        RequestError,
        ("no configuration of the scheduler",),
    ),
}


@pytest.mark.parametrize(("damage", "kind", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_incomplete_or_unsafe_weights_are_rejected(
    damage: Damage, kind: type[DiffprofError], words: tuple[str, ...], model: Path
) -> None:
    damage(model)
    with pytest.raises(kind) as refusal:
        load_pipeline(model)
    assert [word for word in words if word not in str(refusal.value)] == []
    assert type(refusal.value) is kind


def test_a_pickle_is_never_read(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies beside the safetensors here, so there is no reason to refuse."""
    (model / "unet" / "diffusion_pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'exit 3'\ntR.")

    def read(*_: Any, **__: Any) -> None:
        raise AssertionError("a pickle was read")

    monkeypatch.setattr(torch, "load", read)
    load_pipeline(model)


@pytest.mark.parametrize("name", split_cases(FAMILIES, always=("flux", "stable-diffusion-3")))
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_random_weights_have_the_true_sizes_and_give_finite_images(name: str, dtype: str, tmp_path: Path) -> None:
    original = SMALL_PIPELINES[name].build()
    original.save_pretrained(tmp_path / "model")
    for file in (tmp_path / "model").rglob("*.safetensors"):
        file.unlink()
    loaded = load_pipeline(tmp_path / "model", random_weights=True, dtype=dtype)
    for slot, part in components_of(original).items():
        own = components_of(loaded.pipeline)[slot]
        sizes = [(path, weight.shape) for path, weight in own.named_parameters()]
        assert sizes == [(path, weight.shape) for path, weight in part.named_parameters()]
    assert loaded.opened.assumptions[0] == RANDOM
    assert loaded.opened.dtype == dtype
    assert numpy.isfinite(generate_small(name, loaded.pipeline).astype(float)).all()


def test_a_call_that_the_pipeline_refuses_is_rejected_before_anything_is_loaded(model: Path) -> None:
    (model / UNET).unlink()
    with pytest.raises(PipelineError, match="refused the call"):
        rehearse(plan_loading(Request(model)), {"height": 33, "width": 33}, None)
    with pytest.raises(RequestError, match="did you mean prompt"):
        rehearse(plan_loading(Request(model)), {"prompd": "a cat"}, None)
    with pytest.raises(RequestError, match="vae_tiling"):
        rehearse(plan_loading(Request(model, enable=("vae_tilink",))), {}, None)


def test_scheduler_and_switches_are_the_requested_ones(model: Path) -> None:
    loaded = load_pipeline(model, scheduler="heun", enable=["vae_tiling"])
    assert type(loaded.pipeline.scheduler).__name__ == "HeunDiscreteScheduler"
    assert loaded.pipeline.vae.use_tiling


def test_a_model_that_does_not_fit_is_rejected_with_both_sizes(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_memory, "available_bytes", lambda: 500_000)
    for random_weights in (False, True):
        with pytest.raises(DiffprofError, match="does not fit") as refusal:
            plan = plan_loading(Request(model, random_weights=random_weights))
            plan.load(rehearse(plan, {"num_inference_steps": 1}, None))
        assert "1 MB are free" in str(refusal.value)
        assert "on cpu for its weights and about" in str(refusal.value)


def test_progress_names_each_model_that_is_loaded(model: Path) -> None:
    events: list[ProgressEvent] = []
    load_pipeline(model, progress=events.append)
    loading = [event for event in events if event.activity is Activity.loading]
    assert {event.subject for event in loading} == {"unet", "vae", "text_encoder"}
    assert [event.done for event in loading] == [0, 1, 2]
    assert events[-1].total == 3
