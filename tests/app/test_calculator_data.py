"""What the calculator's script is told of accelerators and of the time model."""

from __future__ import annotations

import json

import pytest

from diffprof.app.calculator_data import DTYPES, OTHER, calculator_constants, calculator_device
from diffprof.catalogue.accelerators import accelerators, find_accelerator
from diffprof.prediction import kernel_times
from diffprof.prediction.device import device_of


def test_every_accelerator_can_be_written_as_json() -> None:
    written = json.loads(json.dumps([calculator_device(accelerator) for accelerator in accelerators()]))
    assert [device["name"] for device in written] == [accelerator.name for accelerator in accelerators()]


@pytest.mark.parametrize("name", ["h100-sxm", "t4", "mi300x"])
def test_rates_are_those_of_the_time_model(name: str) -> None:
    accelerator = find_accelerator(name)
    device, written = device_of(accelerator), calculator_device(accelerator)
    for dtype in DTYPES:
        assert written["rates"][dtype]["product"] == device.product_rate(dtype)
        assert written["rates"][dtype]["fastest_convolution"] == device.fastest_peak(dtype, True)
    # Whatever is not listed is computed in the units for single precision.
    assert written["rates"][OTHER]["product"] == device.product_rate("uint16")


def test_constants_are_written_once() -> None:
    constants = calculator_constants()
    assert {(rows, columns): speed for rows, columns, speed in constants["tiles"]} == kernel_times.TILES
    assert constants["roof_sharpness"] == kernel_times.ROOF_SHARPNESS
