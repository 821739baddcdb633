"""`generate_image`: the picture, what it took, and what it leaves alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

import diffprof
from diffprof import config
from diffprof.compute_profiler import create_profiler
from diffprof.errors import DiffprofError
from diffprof.inference import Generated, generate_image
from diffprof.model_manager import ModelManager
from tests.generation.support import GUIDE_KEYS, arguments_of, files_in, same
from tests.small_pipelines import SMALL_PIPELINES


def test_four_values_are_returned_and_the_image_is_saved(make: Callable[..., Generated], out: Path) -> None:
    image, filepath, seed, profiling_data = make()
    assert filepath == out / "small-sd_seed5.png"
    assert same(image, Image.open(filepath))
    assert seed == 5
    assert profiling_data is not None
    assert files_in(out) == ["small-sd_seed5.png", "small-sd_seed5.profile.json"]


def test_the_profiling_data_has_every_key_of_the_guides(make: Callable[..., Generated]) -> None:
    data = make(num_inference_steps=3, width=48, height=32).profiling_data
    assert data is not None
    assert set(data) >= GUIDE_KEYS
    assert data["enabled"] is True
    assert data["model_component"] == "unet"
    assert data["num_inference_steps"] == 3
    assert (data["input_shape"], data["latent_shape"]) == ((1, 3, 32, 48), (1, 4, 16, 24))
    assert data["inference_time_seconds"] > 0
    assert data["inference_time_str"].endswith("s")
    assert data["throughput_tflops"] == pytest.approx(data["total_flops"] / data["inference_time_seconds"] / 1e12)
    assert data["peak_memory_bytes"] > 10**6
    assert data["notes"] == []


def test_the_numbers_are_those_of_the_profiler_and_of_the_profile(
    make: Callable[..., Generated], model: Path, manager: ModelManager
) -> None:
    data = make(guidance_scale=4.0).profiling_data
    assert data is not None
    counted = create_profiler().profile_pipeline(
        manager.load_model(model), input_shape=data["input_shape"], num_inference_steps=2, guidance_scale=4.0
    )
    shared = set(counted) & set(data) - {"model_id", "notes"}
    assert shared >= GUIDE_KEYS - {"inference_time_seconds", "inference_time_str"}
    assert {key: data[key] for key in shared} == {key: counted[key] for key in shared}
    profile = data["profile"]
    assert profile.total.macs == data["total_macs"]
    assert profile.measured is not None
    assert [len(iteration.steps) for iteration in profile.measured.iterations] == [2]
    assert profile.measured.load_seconds is not None
    assert profile.request.arguments["guidance_scale"] == 4.0
    assert diffprof.load(data["profile_path"]) == profile


def test_without_profiling_there_is_no_data(
    make: Callable[..., Generated], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert make(enable_profiling=False).profiling_data is None
    monkeypatch.setenv("DIFFPROF_ENABLE_COMPUTE_PROFILING", "0")
    assert make(seed=6).profiling_data is None
    assert make(seed=7, enable_profiling=True).profiling_data is not None
    assert files_in(out) == [
        "small-sd_seed5.png", "small-sd_seed6.png", "small-sd_seed7.png", "small-sd_seed7.profile.json",
    ]  # fmt: skip


def test_the_same_seed_generates_the_same_image_profiled_or_not(make: Callable[..., Generated]) -> None:
    torch.manual_seed(1)
    first = make()
    torch.manual_seed(2)
    again, plain, another = make(), make(enable_profiling=False), make(seed=6)
    assert same(first.image, again.image)
    assert same(first.image, plain.image)
    assert not same(first.image, another.image)


def test_the_random_numbers_of_the_program_are_left_alone(make: Callable[..., Generated]) -> None:
    torch.manual_seed(1)
    expected = torch.rand(4)
    torch.manual_seed(1)
    make()
    assert torch.equal(torch.rand(4), expected)


def test_without_a_seed_one_is_drawn_and_reproduces_the_image(make: Callable[..., Generated]) -> None:
    one, two = make(seed=None), make(seed=None)
    assert one.seed != two.seed
    assert same(one.image, make(seed=one.seed).image)


def test_the_settings_stand_in_for_what_is_not_given(
    make: Callable[..., Generated], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIFFPROF_DEFAULT_STEPS", "1")
    monkeypatch.setenv("DIFFPROF_DEFAULT_WIDTH", "64")
    monkeypatch.setenv("DIFFPROF_DEFAULT_HEIGHT", "32")
    monkeypatch.setenv("DIFFPROF_DEFAULT_GUIDANCE_SCALE", "1")
    monkeypatch.setenv("DIFFPROF_DEFAULT_SEED", "99")
    monkeypatch.setenv("DIFFPROF_OUTPUT_DIR", str(tmp_path / "usual"))
    made = make(num_inference_steps=None, seed=None, output_dir=None)
    assert made.filepath == tmp_path / "usual" / "small-sd_seed99.png"
    assert made.image.size == (64, 32)
    data = made.profiling_data
    assert data is not None
    assert data["num_executed_steps"] == 1
    assert data["profile"].request.arguments["guidance_scale"] == 1.0


def test_no_image_is_overwritten(make: Callable[..., Generated]) -> None:
    assert [make(enable_profiling=False).filepath.name for _ in range(3)] == [
        "small-sd_seed5.png", "small-sd_seed5_2.png", "small-sd_seed5_3.png",
    ]  # fmt: skip


def test_a_pipeline_of_the_caller_is_used_and_left_as_it_was(out: Path) -> None:
    pipeline: Any = SMALL_PIPELINES["stable-diffusion"].build()
    scheduler = pipeline.scheduler
    made = generate_image(
        "my model", "a cat", num_inference_steps=2, scheduler="euler", pipe=pipeline, output_dir=out, seed=1
    )
    assert made.filepath.name == "my-model_seed1.png"
    assert made.profiling_data is not None
    assert made.profiling_data["profile"].steps.main.scheduler == "EulerDiscreteScheduler"
    assert made.profiling_data["profile"].request.scheduler == "euler"
    assert len(made.profiling_data["profile"].measured.iterations[0].steps) == 2
    assert pipeline.scheduler is scheduler
    assert pipeline.config["scheduler"] == ("diffusers", "DDIMScheduler")
    assert "progress_bar" not in vars(pipeline)


def test_a_cache_is_enabled_for_one_image(out: Path) -> None:
    pipeline: Any = SMALL_PIPELINES["flux"].build()
    ask = {**arguments_of("flux"), "num_inference_steps": 4, "pipe": pipeline, "output_dir": out, "seed": 3}
    plain, cached, again = (generate_image(**ask, cache=one) for one in (None, "first_block:threshold=1000", None))
    assert not pipeline.transformer.is_cache_enabled
    assert cached.profiling_data is not None
    assert plain.profiling_data is not None
    assert cached.profiling_data["total_macs"] < plain.profiling_data["total_macs"]
    assert cached.profiling_data["profile"].measured.iterations[0].caches
    assert not same(plain.image, cached.image)
    assert same(plain.image, again.image)


def test_progress_is_reported_step_by_step_with_the_remaining_time(make: Callable[..., Generated]) -> None:
    told: list[tuple[str, int | None, int | None]] = []
    make(num_inference_steps=3, progress_callback=lambda *report: told.append(report))
    steps = [report for report in told if report[1] is not None and "step" in report[0]]
    assert [report[1:] for report in steps] == [(1, 3), (2, 3), (3, 3)]
    assert steps[0][0] == "small-sd, step 1 of 3"
    assert " left" in steps[1][0]
    assert " left" not in steps[2][0]


class Enough(Exception):
    """Somebody does not want to wait any longer."""


@pytest.mark.parametrize("profiled", [True, False])
def test_what_the_callback_raises_ends_it_and_comes_out(
    make: Callable[..., Generated], out: Path, profiled: bool
) -> None:
    def stop(message: str, done: int | None, total: int | None) -> None:
        if done == 1:
            raise Enough

    with pytest.raises(Enough):
        make(progress_callback=stop, enable_profiling=profiled)
    assert files_in(out) == []
    assert make().filepath.exists(), "and the next one works as before"


def test_a_failed_measurement_does_not_lose_the_image(
    make: Callable[..., Generated], model: Path, manager: ModelManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    with diffprof.measuring(manager.load_model(model)):
        made = make()
    assert made.image is not None
    assert made.profiling_data is not None
    assert made.profiling_data["enabled"] is False
    assert "is being measured already" in made.profiling_data["reason"]
    assert made.profiling_data["inference_time_seconds"] > 0

    def fail(*arguments: Any, **options: Any) -> Any:
        raise DiffprofError("no formula at all")

    monkeypatch.setattr("diffprof.runtime.measurement.dry_run", fail)
    data = make().profiling_data
    assert data is not None
    assert (data["enabled"], data["reason"]) == (False, "what ran was not counted: no formula at all")
    assert data["profile"].measured.iterations
    assert "total_macs" not in data


def test_a_black_image_is_explained(make: Callable[..., Generated], monkeypatch: pytest.MonkeyPatch) -> None:
    from diffusers import StableDiffusionPipeline

    monkeypatch.setattr(StableDiffusionPipeline, "run_safety_checker", lambda self, image, *rest: (image, [True]))
    data = make().profiling_data
    assert data is not None
    assert any("safety checker" in note for note in data["notes"])


def test_without_a_name_the_bundled_model_generates(out: Path, manager: ModelManager) -> None:
    ask: dict[str, Any] = {
        "prompt": "a red circle on a blue background", "num_inference_steps": 4, "output_dir": out, "manager": manager,
    }  # fmt: skip
    image, filepath, seed, data = generate_image(seed=7, **ask)
    assert (filepath.name, seed) == ("shapes_seed7.png", 7)
    assert min(image.size) >= 64
    assert data is not None
    assert data["enabled"]
    assert data["model_component"] == "unet"
    assert data["profile"].request.model == "shapes"
    assert same(image, generate_image("shapes", seed=7, enable_profiling=False, **ask).image)
    assert same(image, generate_image("Shapes", seed=7, **ask).image)
    assert not same(image, generate_image(seed=8, **ask).image)
    assert [model.model_id for model in manager.list_models()].count("shapes") == 1


def test_what_is_imported_from_the_guides_is_there() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert config.ENABLE_COMPUTE_PROFILING in (True, False)
    assert Generated._fields == ("image", "filepath", "seed", "profiling_data")
