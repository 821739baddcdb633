"""The figures in the list are those that the reports of the same run show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.breakdown.memory_peaks import memory_table
from diffprof.breakdown.throughput import generation
from diffprof.record.history.summary import digest, peak_memory_bytes, summary, wall_seconds
from diffprof.record.measured import Measured, SystemPoint
from diffprof.record.profile import Profile
from tests.sample_iterations import CPU, GB, GPU, MILLISECOND, iteration_on
from tests.sample_profiles import everything_measured, measured_profile, nothing, stable_diffusion


def runs() -> list[Profile]:
    seen = SystemPoint(2 * MILLISECOND, 100.0, 50 * GB)
    missed = SystemPoint(10**15, 100.0, 99 * GB)
    traced = iteration_on(GPU, traced=True, held_bytes=70 * GB)
    return [
        measured_profile(device=CPU),
        measured_profile(device=GPU),
        measured_profile(device=CPU, system=[seen, missed]),
        measured_profile(device=CPU, iterations=[iteration_on(CPU, times=times) for times in (1, 7)]),
        measured_profile(device=GPU, iterations=[iteration_on(GPU), traced]),
        everything_measured(),
    ]


@pytest.mark.parametrize("profile", runs())
def test_the_time_is_that_of_a_generation(profile: Profile) -> None:
    whole = generation(profile)
    assert whole is not None and profile.measured is not None
    assert wall_seconds(profile.measured) == whole.median_ns / 1e9
    assert summary(profile)["iterations"] == whole.iterations


@pytest.mark.parametrize("profile", runs())
def test_the_memory_is_the_highest_of_the_memory_table(profile: Profile) -> None:
    rows = [row for row in memory_table(profile) if row.is_stage]
    on_device = [row.device_peak_bytes for row in rows if row.device_peak_bytes is not None]
    assert profile.measured is not None
    assert peak_memory_bytes(profile.measured) == max(on_device or [row.rss_peak_bytes for row in rows])


def test_nothing_measured_is_nothing() -> None:
    empty = Measured(CPU, ())
    assert (wall_seconds(empty), peak_memory_bytes(empty)) == (None, None)
    assert summary(replace(nothing(), measured=empty))["iterations"] == 0


def test_the_dtype_is_the_requested_one_or_that_of_the_denoiser() -> None:
    counted = stable_diffusion()
    assert summary(counted)["dtype"] == "float16"
    unet = replace(counted.components["unet"], dtype="bfloat16")
    request = replace(counted.request, dtype=None)
    assert summary(replace(counted, request=request, components={"unet": unet}))["dtype"] == "bfloat16"
    assert summary(replace(nothing(), components={}))["dtype"] is None


@pytest.mark.parametrize("size", [None, True, "512", 0, [512]])
def test_a_value_that_is_not_a_size_is_none(size: object) -> None:
    request = replace(stable_diffusion().request, arguments={"height": size}, defaults={})
    assert summary(replace(stable_diffusion(), request=request))["height"] is None


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"pipeline": "Other"},
        {"dtype": "float32"},
        {"scheduler": "DDIMScheduler"},
        {"enable": ("vae_tiling",)},
        {"arguments": {"guidance_scale": 1.0}},
        {"arguments": {"prompt_embeds": "1x77x768"}},
        {"arguments": {"negative_prompt": None}},
    ],
)
def test_whatever_changes_the_work_is_another_request(change: dict[str, object]) -> None:
    request = replace(stable_diffusion().request, arguments={"guidance_scale": 7.5, "negative_prompt": ""}, defaults={})
    changed = replace(request, **{**change, "arguments": {**request.arguments, **change.get("arguments", {})}})  # type: ignore[arg-type, dict-item]
    assert digest(changed) != digest(request)


def test_the_order_of_arguments_and_switches_does_not_matter() -> None:
    request = replace(stable_diffusion().request, arguments={"a": 1, "b": 2}, enable=("x", "y"))
    assert digest(request) == digest(replace(request, arguments={"b": 2, "a": 1}, enable=("y", "x")))
