"""How good predictions are, computed from the data files: fitted, left out, intervals and bounds."""

from __future__ import annotations

import pytest
from calibration.checks import (
    PAGE,
    coverage,
    fitted,
    left_out,
    median_error,
    others,
    results_table,
    trace_errors,
    training_runs,
)
from calibration.data import runs, workloads

from diffprof.catalogue.accelerators import find_accelerator


def test_every_run_names_a_known_accelerator_and_a_counted_workload() -> None:
    for run in runs():
        assert find_accelerator(run.accelerator).name == run.accelerator
        assert run.workload in workloads()
        assert run.seconds > 0
        assert run.source


def test_devices_and_families_in_the_data_are_predicted_within_an_eighth() -> None:
    checked = fitted()
    assert len(checked) == len(training_runs()) >= 150
    assert median_error(checked) <= 0.12
    assert coverage(checked) >= 0.8


def test_devices_that_were_left_out_are_predicted_within_a_sixth() -> None:
    checked = left_out("accelerator")
    assert len(checked) == len(training_runs())
    assert median_error(checked) <= 0.18
    assert coverage(checked) >= 0.8


def test_models_that_were_left_out_are_predicted_within_a_sixth() -> None:
    checked = left_out("model")
    assert len(checked) == len(training_runs())
    assert median_error(checked) <= 0.18
    assert coverage(checked) >= 0.8


def test_no_bound_lies_above_a_measured_time() -> None:
    above = [one.run for one in (*fitted(), *others()) if one.bound > one.run.seconds]
    assert above == []


def test_runs_that_were_never_fitted_are_predicted_as_well() -> None:
    assert median_error(others()) <= 0.12
    assert coverage(others()) >= 0.8


@pytest.mark.parametrize("name", ["wan2.1-t2v-1.3b", "qwen1.5-0.5b"])
def test_kernels_of_a_real_run_sum_to_its_time(name: str) -> None:
    total, by_category = trace_errors()["h100-sxm", name]
    assert abs(total - 1) <= 0.12
    for category in {"GEMM", "SDPA_fwd", "elementwise", "NORM_fwd", "CONV_fwd", "reduce"} & set(by_category):
        assert abs(by_category[category] - 1) <= 0.25


@pytest.mark.parametrize("name", ["sd3.5-xdit-compiled", "vit", "bert-small", "qwen1.5-0.5b"])
def test_kernels_of_another_maker_take_their_time_by_kind(name: str) -> None:
    by_category = trace_errors()["mi300x", name][1]
    for category in {"GEMM", "SDPA_fwd", "elementwise", "NORM_fwd", "CONV_fwd"} & set(by_category):
        assert abs(by_category[category] - 1) <= 0.25


def test_the_kernels_of_every_trace_sum_to_its_time() -> None:
    totals = {key: total for key, (total, _) in trace_errors().items()}
    assert len(totals) == 10
    assert {key: total for key, total in totals.items() if abs(total - 1) > 0.12} == {}


def test_the_page_has_the_figures_of_the_data() -> None:
    assert results_table() in PAGE.read_text(encoding="utf-8")
