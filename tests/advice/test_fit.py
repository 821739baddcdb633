"""Does it fit: of a model, a profile, a file and a live pipeline, and what would make it fit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import diffprof
from diffprof.advice.code import ENCODED, program
from diffprof.advice.fit import FitRequest, fit_profile
from diffprof.advice.sizes import parse_memory
from diffprof.errors import RequestError
from diffprof.record.changes import Changes
from diffprof.record.fit import Fit
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings
from tests.sample_profiles import stable_diffusion as profile_without_allocations
from tests.small_pipelines import SMALL_PIPELINES

GIB = 1024**3


@pytest.fixture(scope="module")
def small() -> Profile:
    pipeline = SMALL_PIPELINES["stable-diffusion"]
    return diffprof.profile(pipeline.build(), **pipeline.arguments())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("small") / "pipeline"
    SMALL_PIPELINES["stable-diffusion"].build().save_pretrained(target)
    return target


@pytest.fixture(scope="module")
def flux() -> Profile:
    return diffprof.profile("flux.1-dev", num_inference_steps=2)


def test_a_large_device_has_memory_to_spare(flux: Profile) -> None:
    fit = fit_profile(flux, FitRequest(accelerator="h100-sxm"))
    assert fit.fits is True and not fit.changes
    assert fit.usable_bytes is not None and fit.peak.device_bytes < fit.usable_bytes


def test_a_small_device_gets_changes_that_fit_the_quickest_first(flux: Profile) -> None:
    fit = fit_profile(flux, FitRequest(accelerator="rtx-4090"))
    assert fit.fits is False
    assert {change.name for change in fit.changes} >= {
        *("offload model", "offload group-leaf", "quantize transformer=int8", "layerwise fp8 + drop text encoders"),
    }
    assert [change.slowdown for change in fit.changes] == sorted(change.slowdown for change in fit.changes)
    assert all(change.peak.device_bytes <= (fit.usable_bytes or 0) for change in fit.changes)


def test_what_a_change_promises_is_what_a_fit_of_it_says(flux: Profile) -> None:
    fit = fit_profile(flux, FitRequest(accelerator="rtx-4090"))
    assert fit.changes
    for change in fit.changes:
        again = fit_profile(flux, FitRequest(accelerator="rtx-4090", settings=change.settings))
        assert (again.peak, again.host, again.fits) == (change.peak, change.host, True)


def test_without_a_device_nothing_is_said_about_fitting(small: Profile) -> None:
    assert fit_profile(small).fits is None


def test_too_little_memory_on_the_host_does_not_fit(flux: Profile) -> None:
    fit = fit_profile(flux, FitRequest(accelerator="h100-sxm", ram_bytes=16 * GIB))
    assert fit.fits is False and "host" in str(fit)


def test_pinned_memory_is_rounded_to_powers_of_two(flux: Profile) -> None:
    fit = diffprof.fit(flux, offload="group-leaf")
    weights = sum(part.weight_bytes for part in flux.components.values())
    assert weights < fit.host.pinned_bytes < 2 * weights
    assert diffprof.fit(flux, offload="group-leaf", use_stream=False).host.pinned_bytes == 0


def test_a_file_and_a_live_pipeline_fit_alike(small: Profile, tmp_path: Path) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"]
    saved = small.save(tmp_path / "p.json")
    from_file = diffprof.fit(str(saved), memory="4GB")
    live = diffprof.fit(pipeline.build(), memory="4GB", **pipeline.arguments())
    assert from_file.peak == live.peak == diffprof.fit(small, memory="4GB").peak


def test_a_fit_is_saved_and_read_again(flux: Profile, tmp_path: Path) -> None:
    fit: Fit = fit_profile(flux, FitRequest(accelerator="rtx-4090"))
    assert Fit.load(fit.save(tmp_path / "fit.json")) == fit
    values = fit.to_dict()
    assert set(values) >= {"peak", "stages", "host", "fits", "changes", "assumptions"}
    assert set(values["peak"]) == {
        *("allocated_bytes", "reserved_bytes", "device_bytes", "stage", "component", "module"),
    }  # fmt: skip
    assert set(values["host"]) == {"peak_bytes", "pinned_bytes", "load_bytes"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpu": "rtx-4099"}, "did you mean rtx-4090"),
        ({"gpu": "l4", "memory": "24GB"}, "leave out --memory"),
        ({"memory": "much"}, "an amount of memory"),
        ({"memory": "400MB"}, "so little memory"),
        ({"offload": "disk"}, "Unknown offload mode"),
        ({"quantize": {"unet": "nf5"}}, "Unknown quantization"),
        ({"quantize": {"text_encoder_9": "nf4"}}, "no component"),
        ({"quantize": {"unet": "nf4"}, "layerwise": "fp8"}, "not both|cannot both"),
        ({"devices": 0}, "1 or more"),
        ({"without": "unet"}, "cannot do without 'unet'"),
        ({"without": "text_encoder"}, "cannot do without 'text_encoder'"),
        ({"without": ["text_encoder_9"]}, "has no component 'text_encoder_9'"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(small: Profile, options: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        diffprof.fit(small, **options)


def test_a_profile_without_allocations_is_refused() -> None:
    with pytest.raises(RequestError, match="count the model again"):
        diffprof.fit(profile_without_allocations())


@pytest.mark.parametrize(
    ("text", "size"),
    [("24GB", 24 * GIB), ("24 GiB", 24 * GIB), ("512m", 512 * 1024**2), ("1.5g", 3 * GIB // 2), (7, 7)],
)
def test_memory_is_written_as_it_is_sold(text: str | int, size: int) -> None:
    assert parse_memory("memory", text) == size


WAYS_TO_RUN = {
    "tiling": ({"enable": ("vae_tiling",)}, RunSettings()),
    "layerwise": ({}, RunSettings(layerwise={"unet": "float8_e4m3fn"})),
    "quanto": ({}, RunSettings(quantize={"unet": "quanto:int8", "text_encoder": "quanto:int8"})),
    "scheduler": ({"scheduler": "DDIMScheduler", "enable": ("vae_slicing",)}, RunSettings()),
    "without": ({}, RunSettings(without=("safety_checker",))),
    "interval": ({"changes": Changes(guidance_interval=(0.0, 0.5))}, RunSettings()),
    **{way: ({}, RunSettings(offload=way, use_stream=False)) for way in ("model", "group", "group-leaf")},
}


@pytest.mark.parametrize("name", WAYS_TO_RUN)
def test_the_program_of_a_change_runs(name: str, small: Profile, folder: Path) -> None:
    """On the CPU: it stands in for the device."""
    changes, settings = WAYS_TO_RUN[name]
    arguments = {"num_inference_steps": 2, "height": 64, "width": 64}
    request = Request(str(folder), arguments, dtype="float32", **changes)
    text = "\n".join(program(small, request, settings)).replace("cuda", "cpu")
    text = text.replace("cpu_offload()", 'cpu_offload(device="cpu")')
    names: dict[str, Any] = {}
    exec(text, names)
    assert len(names["result"].images) == 1


def test_a_program_names_what_the_libraries_have(small: Profile) -> None:
    """Libraries that are not installed here: their names are those that diffusers and transformers export."""
    import diffusers
    import transformers

    settings = RunSettings(
        quantize={"unet": "torchao:int8", "text_encoder": "bitsandbytes:nf4"}, compiled=True, devices=2, skip_rate=0.3
    )
    lines = program(small, Request("m", {}), settings)
    compile("\n".join(lines), "program", "exec")
    for line in lines:
        if found := re.fullmatch(r"from (diffusers|transformers) import (.*)", line):
            library = {"diffusers": diffusers, "transformers": transformers}[found[1]]
            assert all(hasattr(library, name.split(" as ")[0]) for name in found[2].split(", "))


@pytest.mark.parametrize("pipeline", ENCODED)
def test_a_prompt_that_is_encoded_first_has_what_the_call_takes(pipeline: str) -> None:
    import inspect

    import diffusers

    kind = getattr(diffusers, pipeline)
    assert {name for name in ENCODED[pipeline] if name != "_"} <= set(inspect.signature(kind.__call__).parameters)
    assert "prompt" in inspect.signature(kind.encode_prompt).parameters


def test_a_prediction_of_time_says_where_it_fits(flux: Profile) -> None:
    times = diffprof.predict(flux, gpu="h100-sxm,rtx-4090,t4").accelerators
    assert {name: time.fits for name, time in times.items()} == {"h100-sxm": True, "rtx-4090": False, "t4": False}
    assert diffprof.predict(flux, gpu="t4", offload="group-leaf").accelerators["t4"].fits is True
