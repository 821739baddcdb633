"""The sentences of a measured run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.errors import RequestError
from diffprof.record.measured import (
    LIMITATIONS,
    CountMismatch,
    Device,
    DevicePoint,
    Iteration,
    Limitation,
    Measured,
    Sample,
    Span,
)
from diffprof.record.profile import Profile
from diffprof.render.run_sentences import (
    describe_limitation,
    device_line,
    note_lines,
    require_measured,
    speed_lines,
    step_lines,
)
from tests.sample_iterations import CPU, GPU, interrupted, iteration_on
from tests.sample_profiles import everything_measured, measured_profile, stable_diffusion


def lines_of(profile: Profile, label: str) -> list[str]:
    measured = require_measured(profile)
    return [line for name, line in (*speed_lines(profile, measured), *note_lines(profile, measured)) if name == label]


def test_a_profile_that_was_only_counted_is_rejected() -> None:
    with pytest.raises(RequestError, match="was counted, not measured"):
        require_measured(stable_diffusion())


def test_the_wall_time_names_its_clock() -> None:
    (on_cpu,), (on_gpu,) = lines_of(measured_profile(), "Wall"), lines_of(measured_profile(device=GPU), "Wall")
    assert on_cpu.endswith("; host time)")
    assert on_gpu.endswith("; device time)")
    assert "median of 3 iterations" in on_cpu


def test_a_single_iteration_has_no_spread() -> None:
    (wall,) = lines_of(measured_profile(iterations=[iteration_on(CPU)]), "Wall")
    assert wall.endswith("(host time; a single iteration has no spread)")


def test_a_run_that_never_finished_has_no_rate() -> None:
    profile = measured_profile(iterations=[interrupted(iteration_on(CPU), 3_000)])
    (wall,) = lines_of(profile, "Wall")
    assert wall.endswith("no call finished")
    assert lines_of(profile, "Rate") == []
    assert any("stopped after" in line for line in lines_of(profile, "Failed"))


def test_an_excluded_warm_up_is_mentioned() -> None:
    (excluded,) = lines_of(measured_profile(), "Excluded")
    assert excluded.startswith("1 warm-up of ")


def test_nothing_measured_is_one_message() -> None:
    profile = measured_profile()
    empty = replace(profile, measured=Measured(device=CPU, iterations=()))
    assert speed_lines(empty, require_measured(empty)) == [("Wall", "nothing was measured.")]


def test_steps_have_bars_only_on_the_console() -> None:
    profile = everything_measured()
    with_bars, without = step_lines(profile, ascii_only=True), step_lines(profile, ascii_only=True, with_bars=False)
    assert [line for line in with_bars if line not in without]
    assert all("denoising step" in line or "between steps" in line for _, line in without)


def test_the_device_stands_behind_the_pipeline() -> None:
    profile = measured_profile(device=GPU)
    assert device_line(profile, GPU).startswith("StableDiffusionPipeline, from the catalogue, on NVIDIA A100")


def test_how_a_run_differs_from_its_count_is_a_note() -> None:
    profile = measured_profile()
    mismatches = (CountMismatch(2, "vae_decode"), CountMismatch(3, uncounted=("unet_forward", "vae_encode")))
    measured = replace(require_measured(profile), mismatches=mismatches)
    differs, uncounted = lines_of(replace(profile, measured=measured), "Note")
    assert differs.startswith("the run and the count differ from vae_decode number 2 on, so only earlier calls")
    assert uncounted == "unet_forward, vae_encode ran and was not counted"


@pytest.mark.parametrize("kind", LIMITATIONS)
def test_every_limitation_has_a_sentence(kind: str) -> None:
    sentence = describe_limitation(Limitation(kind, "the detail {here}", done=4, requested=50))
    assert sentence
    assert "None" not in sentence
    without_detail = (
        *("count_interrupted", "short_trace", "incomplete", "late_call", "more_warmups", "launch_times"),
        "time_budget",
    )
    assert ("the detail {here}" in sentence) != (kind in without_detail)


def test_a_further_device_is_named_with_what_ran_there_and_its_memory() -> None:
    vae = Sample("vae_decode", Span(0, 1), "vae", device="cuda:1")
    points = (
        DevicePoint("cuda:1", "start", 0, 1, 2_000_000, 1),
        DevicePoint("cuda:1", "end", 1, 1, 3_000_000, 1_500_000),
    )
    iteration = Iteration(0, Span(0, 1), samples=(vae,), device_memory=points)
    run = Measured(Device("A", "cuda"), (iteration,), other_devices={"cuda:1": Device("NVIDIA L4", "cuda")})
    lines = note_lines(replace(stable_diffusion(), measured=run), run)
    assert ("Memory", "cuda:1 (NVIDIA L4) ran vae: at most 1.50 MB allocated and 3.00 MB reserved") in lines
