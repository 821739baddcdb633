"""`diffprof.profile`: a wrong request is refused in one sentence, and every total is the sum of its parts."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from diffusers.models.attention_dispatch import attention_backend

import diffprof
from diffprof.counting.profile import _COUNTED, profile_model
from diffprof.errors import PipelineError, RequestError
from diffprof.pipelines.opening import _BUILT_LIMIT
from diffprof.record.progress import Activity
from diffprof.record.request import Request
from tests.cli.conftest import Run
from tests.pipelines.folders import saved
from tests.pipelines.refusals import assert_one_sentence
from tests.small_pipelines import SMALL_PIPELINES

WRONG_REQUESTS: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "height 0": ({"height": 0}, ("--height", "0"), "height"),
    "a negative width": ({"width": -8}, ("--width", "-8"), "width"),
    "an absurd height": ({"height": 10**9}, ("--height", "1000000000"), "height"),
    "0 steps": ({"num_inference_steps": 0}, ("--steps", "0"), "steps"),
    "negative steps": ({"num_inference_steps": -3}, ("--steps", "-3"), "steps"),
    "0 images": ({"num_images_per_prompt": 0}, ("--batch", "0"), ""),
    "an unknown argument": ({"prompd": "a cat"}, ("--set", "prompd=a cat"), "did you mean prompt"),
    "frames of an image": ({"num_frames": 16}, ("--frames", "16"), "makes images, not videos"),
    "an unknown dtype": ({"dtype": "float3"}, ("--dtype", "float3"), "float3"),
    "an unknown scheduler": ({"scheduler": "hoin"}, ("--scheduler", "hoin"), "hoin"),
    "an unknown switch": ({"enable": "vae_tilink"}, ("--enable", "vae_tilink"), "vae_tiling"),
}


@pytest.mark.parametrize(("arguments", "options", "words"), WRONG_REQUESTS.values(), ids=WRONG_REQUESTS.keys())
def test_a_wrong_request_is_rejected(
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
def test_a_size_that_is_not_a_whole_number_is_rejected(value: Any, model: Path) -> None:
    with pytest.raises(RequestError, match="height"):
        diffprof.profile(model, height=value)


REFUSED_BY_THE_PIPELINE: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a size that is not divisible": ({"height": 33, "width": 33}, ("--height", "33", "--width", "33")),
    "a prompt that is a number": ({"prompt": 5}, ("--set", "prompt=5")),
}


@pytest.mark.parametrize(("arguments", "options"), REFUSED_BY_THE_PIPELINE.values(), ids=REFUSED_BY_THE_PIPELINE.keys())
def test_a_call_that_the_pipeline_refuses_ends_with_its_own_message(
    arguments: dict[str, Any], options: tuple[str, ...], model: Path, tmp_path: Path, run: Run
) -> None:
    with pytest.raises(PipelineError, match="StableDiffusionPipeline refused the call: ") as refusal:
        diffprof.profile(model, **arguments)
    ended = run("profile", str(model), *options, "-o", str(tmp_path / "p.json"))
    assert ended.code == 1
    assert_one_sentence(ended.err, "StableDiffusionPipeline refused the call: ")
    assert " ".join(str(refusal.value).split())[:60] in ended.err
    assert not (tmp_path / "p.json").exists()


@pytest.mark.parametrize("thing", [None, 5, object(), ["sdxl"], dict])
def test_an_object_that_is_not_a_pipeline_is_rejected(thing: Any) -> None:
    with pytest.raises(RequestError, match="cannot profile a"):
        diffprof.profile(thing)


def test_a_dtype_for_a_live_pipeline_is_rejected() -> None:
    with pytest.raises(RequestError, match=r"pipe\.to\(dtype\)"):
        diffprof.profile(SMALL_PIPELINES["stable-diffusion"].build(), dtype="float16")


def test_an_interruption_leaves_no_file_and_no_cache(
    model: Path, tmp_path: Path, own_cache: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers import UNet2DConditionModel

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(UNet2DConditionModel, "forward", interrupt)
    ended = run("profile", str(model), "-o", str(tmp_path / "p.json"))
    assert (ended.code, ended.out, ended.err) == (130, "", "diffprof: interrupted.\n")
    assert not list(tmp_path.glob("p.json*"))
    assert not list(own_cache.rglob("*.json*"))


def test_the_command_line_counts_a_folder(tmp_path: Path, run: Run) -> None:
    model = saved("stable-diffusion", tmp_path / "model")
    ended = run("profile", str(model), "--steps", "2", "--json", "-o", str(tmp_path / "p.json"))
    assert ended.code == 0, ended.err
    assert diffprof.load(tmp_path / "p.json").total.macs == diffprof.profile(model, num_inference_steps=2).total.macs


def profile_of(name: str) -> diffprof.Profile:
    small = SMALL_PIPELINES[name]
    return diffprof.profile(small.build(), **small.arguments())


def test_two_components_of_one_class_stay_two() -> None:
    done = profile_of("stable-diffusion-3")
    first, second = done.components["text_encoder"], done.components["text_encoder_2"]
    assert first.class_name == second.class_name == "CLIPTextModelWithProjection"
    for part in (first, second):
        own = [call.macs for call in done.calls if call.component == part.slot]
        assert (part.calls, part.macs) == (2, sum(own))


@pytest.mark.parametrize("name", ["stable-diffusion", "flux", "wan-2.1", "kandinsky-2.2-combined", "sana"])
def test_every_total_is_the_sum_of_its_parts(name: str) -> None:
    done = profile_of(name)
    assert done.total.macs == sum(call.macs for call in done.calls)
    assert done.total.macs == sum(part.macs for part in done.components.values())
    for call in done.calls:
        assert call.work.macs == sum(operation.work.macs for operation in call.cost.operations)
        assert call.work.other_flops == sum(operation.work.other_flops for operation in call.cost.operations)
        if call.cost.modules:
            assert call.work.macs == sum(module.work.macs for module in call.cost.modules)
            assert call.work.moved_bytes == sum(module.work.moved_bytes for module in call.cost.modules)


@pytest.mark.parametrize("name", ["stable-diffusion", "flux", "wan-2.1", "sana"])
def test_no_operation_is_without_a_formula(name: str) -> None:
    ledger = profile_of(name).ledger
    assert ledger.unknown == {}
    assert ledger.known_ops == ledger.executed_ops
    assert ledger.known_bytes == ledger.moved_bytes


def slots_counted(
    model: Path, options: Mapping[str, Any] | None = None, **arguments: Any
) -> tuple[diffprof.Profile, list[str]]:
    """The profile, and the components of which a call was counted."""
    seen: list[Any] = []
    profile = profile_model(Request.create(str(model), arguments, **(options or {})), seen.append)
    return profile, [event.subject for event in seen if event.activity is Activity.counting]


def test_a_second_size_counts_only_what_depends_on_it_and_says_what_a_first_one_says(tmp_path: Path) -> None:
    model = saved("stable-diffusion", tmp_path)
    first = slots_counted(model, height=64, width=64, num_inference_steps=2)[1]
    again, counted = slots_counted(model, height=32, width=64, num_inference_steps=2)
    assert "text_encoder" in first and "text_encoder" not in counted
    _COUNTED.clear()
    alone, everything = slots_counted(model, height=32, width=64, num_inference_steps=2)
    assert everything == first
    assert again == alone and again.to_dict() == alone.to_dict()


@pytest.mark.parametrize(
    ("name", "options", "new"),
    [
        ("stable-diffusion", {"scheduler": "EulerDiscreteScheduler"}, ["unet"]),  # its steps are no integers
        ("stable-diffusion", {"enable": ("vae_tiling",)}, ["text_encoder", "unet", "vae"]),
        ("stable-diffusion", {"guidance_interval": (0.0, 0.5)}, ["unet"]),
        ("wan-2.1", {"enable": ("vae_tiling",), "scheduler": "DPMSolverMultistepScheduler"}, ["transformer"]),
        ("wan-2.1", {"guidance_interval": (0.0, 0.5)}, []),
    ],
)
def test_another_scheduler_switch_or_interval_counts_only_what_it_changes_and_says_what_it_says_alone(
    tmp_path: Path, name: str, options: dict[str, Any], new: list[str]
) -> None:
    model = saved(name, tmp_path)
    arguments = {"num_inference_steps": 4, "height": 64, "width": 64}
    arguments |= {"num_frames": 9} if name == "wan-2.1" else {}
    slots_counted(model, **arguments)
    if "scheduler" in options and "enable" in options:
        slots_counted(model, {"enable": options["enable"]}, **arguments)
    again, counted = slots_counted(model, options, **arguments)
    assert sorted(set(counted)) == new
    _COUNTED.clear()
    alone, _ = slots_counted(model, options, **arguments)
    assert again == alone and again.to_dict() == alone.to_dict()
    assert again.request.changes.guidance_interval == options.get("guidance_interval", ())


def test_what_was_counted_goes_with_the_pipeline_when_another_is_opened(tmp_path: Path) -> None:
    model = saved("stable-diffusion", tmp_path)
    for dtype in ("float32", "float16", "bfloat16", "float64"):
        profile_model(Request.create(str(model), {"num_inference_steps": 1}, dtype=dtype))
    gc.collect()
    assert len(_COUNTED) <= _BUILT_LIMIT


def test_other_settings_of_the_process_count_everything_again(tmp_path: Path) -> None:
    model = saved("stable-diffusion", tmp_path)
    first = slots_counted(model, height=64, width=64, num_inference_steps=2)[1]
    with attention_backend("_native_math"):
        assert slots_counted(model, height=64, width=64, num_inference_steps=2)[1] == first
