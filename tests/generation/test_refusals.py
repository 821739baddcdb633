"""Bad input, full disks and too little memory: a sentence each, and nothing half-written."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from diffprof.counting.isolation import is_dry_running
from diffprof.errors import DiffprofError, OutputError, PipelineError, RequestError
from diffprof.generation import image_files as pictures
from diffprof.generation import sizes
from diffprof.inference import Generated, generate_image
from diffprof.model_manager import ModelManager
from tests.generation.support import arguments_of, files_in, full_disk, same
from tests.pipelines.loadable import saved_with_weights
from tests.runtime.allocators import with_allocator
from tests.small_pipelines import SMALL_PIPELINES


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"prompt": ""}, "the prompt is empty"),
        ({"prompt": "  \n"}, "the prompt is empty"),
        ({"prompt": ["a", "b"]}, "prompt is a list; give one text"),
        ({"prompt": None}, "StableDiffusionPipeline needs the call argument 'prompt'"),
        ({"seed": -1}, "seed must be a whole number from 0 to 9,223,372,036,854,775,807, not -1."),
        ({"seed": 2**63}, "seed must be a whole number from 0"),
        ({"seed": 1.5}, "seed must be a whole number from 0 to 9,223,372,036,854,775,807, not 1.5."),
        ({"num_inference_steps": 0}, "num_inference_steps must be a whole number from 1 to 100,000, not 0."),
        ({"guidance_scale": float("nan")}, "guidance_scale must be a finite number, not nan."),
        ({"width": -8}, "width must be a whole number from 1 to 16,384, not -8."),
        (
            {"width": 33, "height": 30},
            "have to be divisible by 8 but are 30 and 33); the nearest size that works is 32x32",
        ),
        ({"width": 64}, "a width of 64 was given without a height; give both"),
        ({"height": 64}, "a height of 64 was given without a width; give both"),
        ({"scheduler": "eulr"}, "unknown scheduler 'eulr'; did you mean Euler"),
        ({"scheduler": "zzz"}, "Available: AmusedScheduler, "),
        ({"model_id": "stable-difusion"}, "Unknown model 'stable-difusion'"),
        ({"model_id": "./nowhere"}, "There is no folder ./nowhere"),
        ({"colour": "red"}, "StableDiffusionPipeline has no call argument 'colour'; it has prompt, "),
        ({"num_images_per_prompt": 4}, "one image is generated at a time; leave num_images_per_prompt out"),
        ({"generator": None}, "generator cannot be set by the caller; use seed"),
        ({"dtype": "int3"}, "Unknown dtype 'int3'"),
        ({"device": "cuda:99"}, "this machine has no cuda device|there is no device cuda:99"),
        ({"fps": 0}, "fps must be a whole number from 1 to 240, not 0."),
        ({"offload": "cloud"}, "unknown offload mode 'cloud'"),
    ],
)
def test_bad_input_is_rejected_with_a_message_and_nothing_is_written(
    make: Callable[..., Generated], out: Path, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(RequestError, match="|".join(map(re.escape, sentence.split("|")))):
        make(**changes)
    assert files_in(out) == []


def test_the_list_of_schedulers_is_that_of_the_pipeline_where_it_is_there(out: Path) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    with pytest.raises(RequestError, match="StableDiffusionPipeline works with DDIMScheduler, DDPMScheduler, "):
        generate_image(pipe=pipeline, prompt="a cat", scheduler="zzz", output_dir=out)


def test_a_live_pipeline_is_not_put_elsewhere(out: Path) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    with pytest.raises(RequestError, match="change a live pipeline yourself"):
        generate_image(pipe=pipeline, prompt="a cat", dtype="bfloat16", output_dir=out)


def test_the_size_is_not_blamed_for_what_it_has_nothing_to_do_with(
    make: Callable[..., Generated], monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers import UNet2DConditionModel

    make(width=40, height=40)
    real = UNet2DConditionModel.forward

    def forward(self: Any, *arguments: Any, **options: Any) -> Any:
        if not is_dry_running():
            raise RuntimeError("a bad day")
        return real(self, *arguments, **options)

    monkeypatch.setattr(UNet2DConditionModel, "forward", forward)
    with pytest.raises(PipelineError, match="StableDiffusionPipeline failed: RuntimeError: a bad day"):
        make(width=40, height=40)


def test_the_nearest_size_is_one_that_works(make: Callable[..., Generated], other: Path) -> None:
    with pytest.raises(RequestError, match="the nearest size that works is") as refused:
        make(model_id=other, width=35, height=29)
    width, height = map(int, str(refused.value).rpartition(" ")[2].split("x"))
    assert make(model_id=other, width=width, height=height).image.size == (width, height)


def test_a_size_that_the_pipeline_would_change_is_rejected_with_a_possible_one(out: Path) -> None:
    folder = saved_with_weights("flux", out.parent / "small-flux")
    with pytest.raises(
        RequestError, match=r"small-flux cannot generate 36x33 \(it would generate \d+x\d+ instead\); the nearest"
    ):
        generate_image(folder, "a cat", width=36, height=33, output_dir=out, manager=ModelManager(device="cpu"))


def test_a_folder_that_cannot_be_written_is_found_before_the_work(
    make: Callable[..., Generated], tmp_path: Path, manager: ModelManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(OutputError, match="is not a folder"):
        make(output_dir=file / "below")
    assert file.read_text() == "mine"

    def refuse(**options: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("diffprof.record.atomic_files.tempfile.TemporaryFile", refuse)
    monkeypatch.setattr(ModelManager, "using", None)
    with pytest.raises(OutputError, match=r"Cannot write into .*: Permission denied\."):
        make(output_dir=tmp_path / "locked")


def test_on_a_full_disk_no_partial_file_remains_and_the_image_is_not_lost(
    make: Callable[..., Generated], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = make(output_dir=out.parent / "elsewhere").image
    full_disk(monkeypatch)
    with pytest.raises(OutputError, match="No space left on device") as failed:
        make()
    assert files_in(out) == []
    assert same(failed.value.image, expected)


def test_on_a_full_disk_no_part_of_a_video_remains(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline, arguments = SMALL_PIPELINES["text-to-video"].build(), arguments_of("text-to-video")

    def fail(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pictures, "_write_mp4", fail)
    with pytest.raises(OutputError, match="No space left on device"):
        generate_image(pipe=pipeline, output_dir=out, enable_profiling=False, **arguments)
    assert files_in(out) == []


def test_a_call_that_cannot_fit_is_rejected_before_anything_is_loaded(
    model: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "free_bytes", lambda device: 20 * 10**6)
    own = ModelManager(device="cpu")
    with pytest.raises(DiffprofError) as refused:
        generate_image(model, "a cat", width=1024, height=1024, output_dir=out, manager=own)
    sentence = str(refused.value)
    assert sentence.startswith("small-sd needs about ")
    assert "for 1024x1024, and 20.00 MB are free on cpu; " in sentence
    smaller = int(sentence.partition("; ")[2].partition("x")[0])
    assert f"{smaller}x{smaller} would fit, it needs about " in sentence
    assert own.list_models() == ()
    generate_image(model, "a cat", width=smaller, height=smaller, num_inference_steps=1, output_dir=out, manager=own)


def test_memory_is_checked_for_a_larger_image_with_a_loaded_model(
    make: Callable[..., Generated], monkeypatch: pytest.MonkeyPatch
) -> None:
    make()
    monkeypatch.setattr(sizes, "free_bytes", lambda device: 20 * 10**6)
    make()
    with pytest.raises(DiffprofError, match=r"needs about .* would fit"):
        make(width=1088, height=1088)


OUT_OF_MEMORY = (
    MemoryError(),
    torch.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("can't allocate memory: 9"),
)
"""As Python, torch on a GPU, and torch on the CPU say it."""


def test_out_of_memory_says_what_would_fit(
    make: Callable[..., Generated], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers import UNet2DConditionModel

    make(width=128, height=128, output_dir=out.parent / "elsewhere")
    real, errors = UNet2DConditionModel.forward, [*OUT_OF_MEMORY]

    def forward(self: Any, sample: Any, *arguments: Any, **options: Any) -> Any:
        if sample.shape[-1] > 32 and not is_dry_running():
            raise errors.pop()
        return real(self, sample, *arguments, **options)

    monkeypatch.setattr(UNet2DConditionModel, "forward", forward)
    for left in (2, 1, 0):
        with pytest.raises(DiffprofError, match=r"small-sd ran out of memory on cpu at 128x128.*; 64x64 would fit"):
            make(width=128, height=128)
        assert len(errors) == left, "each is raised once"
        assert files_in(out) == []
    assert make(width=64, height=64).filepath.exists()


def test_where_the_memory_of_a_gpu_runs_out_its_snapshot_is_explained(
    make: Callable[..., Generated], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers import UNet2DConditionModel

    make(output_dir=out.parent / "elsewhere")

    def forward(*args: Any, **options: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(UNet2DConditionModel, "forward", forward)
    with_allocator(monkeypatch)
    with pytest.raises(DiffprofError, match=r"ran out of memory.*; .*memory_snapshot\.txt says what took the memory"):
        make()
    assert "400.00 MB allocated" in (out / "memory_snapshot.txt").read_text(encoding="utf-8")
    assert (out / "memory_snapshot.pickle").is_file()
