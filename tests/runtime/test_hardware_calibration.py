"""A machine is measured and becomes an accelerator whose times can be predicted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from diffprof.catalogue.accelerators import find_accelerator
from diffprof.errors import RequestError
from diffprof.prediction.device import device_of
from diffprof.runtime import hardware_calibration
from diffprof.runtime.hardware_calibration import (
    BundledPipeline,
    BusyMachineError,
    _attention_numbers,
    calibrate,
    check_name,
    short_name,
)
from diffprof.runtime.machine_timings import MachineTimings

TIMINGS = MachineTimings(
    peaks={"float32": 2e11},
    convolution_rate=1e11,
    attention_rate=5e10,
    masked_attention_rate=4e10,
    bytes_per_second=2e10,
    cached_bytes_per_second=8e10,
    strided_bytes_per_second=1e10,
    scattered_elements_per_second=3e9,
    norm_elements_per_second=1.5e9,
    host_bytes_per_second=None,
    operation_seconds=5e-6,
    view_seconds=1e-6,
    module_seconds=2e-6,
    kernel_seconds=1e-6,
)


CPU = torch.device("cpu")
PIPELINE_SECONDS = 0.1
DISTURBED = replace(TIMINGS, kernel_seconds=0.0116)
"""As they were measured next to other programs."""

Timed = Callable[..., None]


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Timed:
    """Let a calibration find these timings and these times of the pipeline, in turn."""

    def time(*timings: MachineTimings, pipeline: tuple[float, ...] = (PIPELINE_SECONDS,)) -> None:
        found, seconds = iter(timings), iter(pipeline)
        monkeypatch.setattr(hardware_calibration, "CALLS", 1)
        monkeypatch.setattr(hardware_calibration, "time_machine", lambda device, dtype, progress: next(found))
        monkeypatch.setattr(hardware_calibration, "_call_seconds", lambda pipeline, arguments: next(seconds))

    return time


def test_a_processor_reaches_what_was_timed(timed: Timed) -> None:
    timed(TIMINGS)
    entry = calibrate(CPU, "my-cpu")
    device = device_of(entry)
    assert (entry.name, entry.architecture, device.is_processor) == ("my-cpu", "cpu", True)
    assert device.product_rate("float32") == pytest.approx(2e11)
    assert device.effective_bandwidth == pytest.approx(2e10)
    assert device.element_rate == pytest.approx(3e9)
    assert device.efficiency.convolution_share == pytest.approx(0.5)
    assert device.efficiency.norm_passes == pytest.approx(2)


def test_the_measured_time_of_attention_on_an_accelerator_is_that_of_its_products_and_scores() -> None:
    for name, attention_rate in (("rtx-4090", 1e14), ("rtx-4090", 1e12), ("t4", 2e13)):
        timings = replace(TIMINGS, attention_rate=attention_rate, masked_attention_rate=0.8 * attention_rate)
        entry = find_accelerator(name)
        rate = 1.5e14
        efficiency = replace(device_of(entry).efficiency, **_attention_numbers(timings, rate, device_of(entry)))
        device = replace(device_of(entry), efficiency=efficiency)
        passes = 1.0 if device.has_flash_attention else efficiency.masked_score_passes
        scores, products = passes / device.score_rate, 4 * 128 / (rate * efficiency.attention_share)
        assert 4 * 128 / (products + scores) == pytest.approx(attention_rate)
        assert efficiency.masked_score_passes > 1


def test_the_host_is_as_slow_as_in_a_pipeline(timed: Timed) -> None:
    timed(TIMINGS)
    assert calibrate(CPU).measured["operation_seconds"] > TIMINGS.operation_seconds


def test_the_fitted_numbers_predict_the_pipeline_that_they_were_fitted_to(timed: Timed) -> None:
    timed(TIMINGS)
    entry = calibrate(CPU)
    assert BundledPipeline(CPU).predicted_seconds(entry) == pytest.approx(PIPELINE_SECONDS)


def test_numbers_that_contradict_the_pipeline_are_measured_once_more(timed: Timed) -> None:
    timed(DISTURBED, TIMINGS, pipeline=(PIPELINE_SECONDS, 2 * PIPELINE_SECONDS))
    said: list[str] = []
    entry = calibrate(CPU, progress=said.append)
    assert entry.measured["kernel_seconds"] == TIMINGS.kernel_seconds
    assert said == ["a pipeline", "everything again, because the numbers contradict each other", "a pipeline"]
    assert BundledPipeline(CPU).predicted_seconds(entry) == pytest.approx(PIPELINE_SECONDS)


@pytest.mark.parametrize(
    ("timings", "seconds"),
    [(DISTURBED, PIPELINE_SECONDS), (TIMINGS, 100 * PIPELINE_SECONDS)],
    ids=["the parts are too slow for the pipeline", "the pipeline is too slow for its parts"],
)
def test_numbers_that_contradict_each_other_twice_are_an_error(
    timings: MachineTimings, seconds: float, timed: Timed
) -> None:
    timed(timings, timings, pipeline=(seconds, seconds))
    with pytest.raises(BusyMachineError, match=r"seems busy: .* contradict each other by a factor of \d+\.\d, so"):
        calibrate(CPU)


@pytest.mark.parametrize("name", ["h100-sxm", "h100sxm", "tesla-t4"])
def test_the_name_of_another_accelerator_is_refused_before_anything_is_timed(name: str, timed: Timed) -> None:
    timed()
    with pytest.raises(RequestError, match=rf"^{name} is another accelerator of the catalogue \(.+\), and this"):
        calibrate(CPU, name)


def test_the_name_that_means_every_accelerator_is_refused(timed: Timed) -> None:
    timed()
    with pytest.raises(RequestError, match="--name must be another than all"):
        calibrate(CPU, "all")


def test_an_accelerator_may_have_its_own_name_of_the_catalogue() -> None:
    entry = find_accelerator("h100-sxm")
    check_name("h100-sxm", entry.reported_names[0], entry.memory_bytes)
    check_name("my-machine", "AMD EPYC", entry.memory_bytes)
    with pytest.raises(RequestError, match="choose another --name"):
        check_name("t4", entry.reported_names[0], entry.memory_bytes)


def test_a_name_is_made_of_what_the_device_reports() -> None:
    assert short_name("Intel(R) Xeon(R) CPU @ 2.20GHz") == "intel-xeon-cpu"
    assert short_name("AMD EPYC") == "amd-epyc"
    assert short_name("  ") == "this-machine"
    assert find_accelerator("rtx-4090").measured == {}
