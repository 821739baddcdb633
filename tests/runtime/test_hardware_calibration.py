"""A machine is measured and becomes an accelerator whose times can be predicted."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from diffprof.catalogue.accelerators import find_accelerator
from diffprof.prediction.device import device_of
from diffprof.runtime import hardware_calibration
from diffprof.runtime.hardware_calibration import _attention_numbers, calibrate, short_name
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


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware_calibration, "time_machine", lambda device, dtype, progress: TIMINGS)


@pytest.mark.usefixtures("timed")
def test_a_processor_reaches_what_was_timed() -> None:
    entry = calibrate(torch.device("cpu"), "my-cpu")
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


@pytest.mark.usefixtures("timed")
@pytest.mark.extensive
def test_the_host_is_as_slow_as_in_a_real_pipeline() -> None:
    entry = calibrate(torch.device("cpu"))
    assert entry.measured["operation_seconds"] > TIMINGS.operation_seconds


def test_a_name_is_made_of_what_the_device_reports() -> None:
    assert short_name("Intel(R) Xeon(R) CPU @ 2.20GHz") == "intel-xeon-cpu"
    assert short_name("AMD EPYC") == "amd-epyc"
    assert short_name("  ") == "this-machine"
    assert find_accelerator("rtx-4090").measured == {}
