"""The memory of a generation, and whether a device has it."""

from __future__ import annotations

import pytest

import diffprof
from diffprof.advice.outcome import fitting_outcome, outcome_of
from diffprof.catalogue.accelerators import find_accelerator
from diffprof.prediction.device_memory import DeviceMemory, device_memory
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings

GIB = 2**30
RESIDENT, OFFLOADED = RunSettings(), RunSettings(offload="model")
CARD = device_memory(find_accelerator("rtx-4090"))


@pytest.fixture(scope="module")
def flux() -> Profile:
    return diffprof.profile("flux.1-dev")


def test_what_fits_is_the_same_both_ways(flux: Profile) -> None:
    found = outcome_of(flux, OFFLOADED, CARD, None)
    assert found.fits is True
    assert fitting_outcome(flux, OFFLOADED, CARD, None) == found


def test_what_does_not_fit_is_as_much_as_would_be_needed(flux: Profile) -> None:
    found = outcome_of(flux, RESIDENT, CARD, None)
    assert found.fits is False and found.peak.allocated_bytes > 30 * GIB
    assert fitting_outcome(flux, RESIDENT, CARD, None) is None


def test_without_a_device_nothing_is_said_to_fit(flux: Profile) -> None:
    for found in (
        outcome_of(flux, RESIDENT, DeviceMemory("ada"), None),
        fitting_outcome(flux, RESIDENT, DeviceMemory("ada"), None),
    ):
        assert found is not None and found.fits is None


def test_too_little_ram_is_too_little(flux: Profile) -> None:
    assert outcome_of(flux, OFFLOADED, CARD, 8 * GIB).fits is False
    assert fitting_outcome(flux, OFFLOADED, CARD, 8 * GIB) is None
    assert fitting_outcome(flux, OFFLOADED, CARD, 64 * GIB) is not None
