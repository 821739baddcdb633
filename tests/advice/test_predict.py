"""Predictions of models, profiles and files, on accelerators by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import diffprof
from diffprof.advice.predict import USUAL, PredictionRequest, predict_profile
from diffprof.catalogue.accelerators import accelerators
from diffprof.errors import RequestError
from diffprof.record.measured import Device, Iteration, Measured, Sample, Span
from diffprof.record.profile import Profile
from tests.prediction.samples import FILE, stable_diffusion_profile


def test_a_saved_profile_is_predicted_by_its_file_or_itself() -> None:
    by_file = diffprof.predict(FILE, gpu="h100-sxm")
    assert by_file == diffprof.predict(stable_diffusion_profile(), gpu=["h100-sxm"])
    assert list(by_file.accelerators) == ["h100-sxm"]


def test_names_that_torch_reports_work_too() -> None:
    assert list(diffprof.predict(FILE, gpu="NVIDIA H100 80GB HBM3").accelerators) == ["h100-sxm"]


def test_usual_accelerators_where_none_is_named_and_all_where_all_are() -> None:
    profile = stable_diffusion_profile()
    assert tuple(predict_profile(profile).accelerators) == USUAL
    everything = predict_profile(profile, PredictionRequest(("all",)))
    assert set(everything.accelerators) >= {entry.name for entry in accelerators()}


def test_a_price_is_that_of_the_time() -> None:
    prediction = diffprof.predict(FILE, gpu="h100-sxm,t4", price={"h100-sxm": 3.6})
    times = prediction.accelerators
    assert times["h100-sxm"].price_usd == pytest.approx(times["h100-sxm"].total_seconds / 1000)
    assert times["t4"].price_usd is None


def test_an_unknown_accelerator_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(RequestError, match="Unknown accelerator 'h100-sxn'; did you mean h100-sxm"):
        diffprof.predict(FILE, gpu="h100-sxn")


def test_a_dtype_that_an_accelerator_lacks_is_refused_where_it_was_asked_for() -> None:
    request = PredictionRequest(("t4",), dtype="bfloat16")
    with pytest.raises(RequestError, match="t4 does not compute in bfloat16; use float32 or float16"):
        predict_profile(stable_diffusion_profile(), request)


def test_assumptions_name_the_engine_and_what_the_count_assumed() -> None:
    prediction = diffprof.predict(FILE, gpu="rtx-5090", compile=True)
    text = "\n".join(prediction.assumptions)
    assert "compiled by torch.compile" in text
    assert "no times of rtx-5090 or their families were available" in text
    assert set(stable_diffusion_profile().ledger.assumptions) <= set(prediction.assumptions)


def measured_run(slower: float) -> Profile:
    """The profile as it would have run on a T4 that is slower than predicted by a factor."""
    profile = stable_diffusion_profile()
    parts = diffprof.predict(profile, gpu="t4").accelerators["t4"].components
    samples, start = [], 0
    for number, call in enumerate(profile.calls):
        part = parts[call.component]
        taken = round(part.total_seconds * slower / part.calls * 1e9)
        samples.append(Sample(f"{call.component}_{call.method}", Span(start, taken), call.component, call=number))
        start += taken
    iteration = Iteration(0, Span(0, start), tuple(samples))
    return replace(profile, measured=Measured(Device("Tesla T4", "cuda", 16 * 2**30), (iteration,)))


def test_a_measured_run_corrects_what_is_said_about_its_machine() -> None:
    profile = stable_diffusion_profile()
    before = diffprof.predict(profile, gpu="t4").accelerators["t4"]
    after = diffprof.predict(profile, profile=measured_run(1.5)).accelerators["t4"]
    assert after.total_seconds == pytest.approx(1.5 * before.total_seconds, rel=1e-3)
    assert after.basis == "measured"
    assert after.high_seconds / after.total_seconds < before.high_seconds / before.total_seconds


def test_a_measured_run_does_not_change_other_machines() -> None:
    profile = stable_diffusion_profile()
    both = diffprof.predict(profile, gpu="t4,h100-sxm", profile=measured_run(2.0))
    assert both.accelerators["h100-sxm"] == diffprof.predict(profile, gpu="h100-sxm").accelerators["h100-sxm"]


def test_a_run_that_was_faster_than_the_peaks_allow_is_not_believed() -> None:
    time = diffprof.predict(stable_diffusion_profile(), profile=measured_run(0.001)).accelerators["t4"]
    assert time.total_seconds >= time.bound_seconds


def test_a_profile_that_was_only_counted_calibrates_nothing() -> None:
    with pytest.raises(RequestError, match="was counted, not measured, so it says nothing about a machine"):
        diffprof.predict(FILE, profile=FILE)


def test_a_prediction_is_saved_and_read(tmp_path: Path) -> None:
    prediction = diffprof.predict(FILE, gpu="h100-sxm,l4")
    assert type(prediction).load(prediction.save(tmp_path / "p.json")) == prediction


def test_whether_it_fits_is_what_fit_says_and_unknown_for_a_profile_without_allocations() -> None:
    assert diffprof.predict(FILE, gpu="t4").accelerators["t4"].fits is None
    counted = diffprof.profile("shapes", num_inference_steps=1)
    assert diffprof.predict(counted, gpu="t4").accelerators["t4"].fits is True
    assert diffprof.predict(counted, gpu="t4", quantize="nf4").accelerators["t4"].fits is True


def test_a_price_may_be_for_any_spelling_of_an_accelerator() -> None:
    assert diffprof.predict(FILE, gpu="rtx-4090", price={"RTX 4090": 1}).accelerators["rtx-4090"].price_usd is not None


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("foo", "Unknown accelerator 'foo'"), ("t4", "There is a price for t4, but no prediction; name it with --gpu")],
)
def test_a_price_that_would_be_ignored_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        diffprof.predict(FILE, gpu="rtx-4090", price={name: 1})


def test_a_dtype_that_an_accelerator_lacks_is_refused_with_those_that_a_model_can_have() -> None:
    with pytest.raises(RequestError, match="t4 does not compute in bfloat16; use float32 or float16"):
        diffprof.predict("shapes", gpu="t4", dtype="bfloat16")


@pytest.mark.parametrize("price", [-1, float("nan"), float("inf"), "cheap", True])
def test_a_price_is_a_number_of_dollars(price: Any) -> None:
    with pytest.raises(RequestError, match="A price must be a number of dollars per hour"):
        diffprof.predict(FILE, gpu="t4", price={"t4": price})


@pytest.mark.parametrize("gpu", [3, [3], ["t4", None]])
def test_an_accelerator_is_named_by_text(gpu: Any) -> None:
    with pytest.raises(RequestError, match="An accelerator is named by text"):
        diffprof.predict(FILE, gpu=gpu)
