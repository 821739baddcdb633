"""What measured runs say about their machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.catalogue.accelerators import accelerators, find_accelerator
from diffprof.errors import RequestError
from diffprof.prediction.calibration import accelerator_of, calibrate_on, component_seconds
from diffprof.record.measured import Device
from tests.sample_iterations import CPU, GPU, iteration_on
from tests.sample_profiles import measured_profile, stable_diffusion


def test_seconds_of_a_component_are_the_median_of_its_sums() -> None:
    profile = measured_profile(device=CPU)
    iterations = [iteration_on(CPU, unet_ms=milliseconds) for milliseconds in (1_000, 9_000, 2_000)]
    assert component_seconds(profile, iterations) == pytest.approx({"text_encoder": 0.1, "unet": 4 * 2.0, "vae": 3.0})


def test_a_run_that_took_twice_as_long_has_twice_the_factors() -> None:
    once, twice = (
        calibrate_on(measured_profile(device=GPU, iterations=[iteration_on(GPU, times=times)]), accelerators())
        for times in (1, 2)
    )
    assert once.factors.keys() == {"unet", "vae", ""}  # text encoding is too short to learn from
    assert twice.factors == pytest.approx({slot: 2 * factor for slot, factor in once.factors.items()})
    assert min(once.factors.values()) <= once.factors[""] <= max(once.factors.values())
    assert once.accelerator == find_accelerator("a100-sxm-80gb")


def test_a_profile_that_was_only_counted_says_nothing_about_a_machine() -> None:
    with pytest.raises(RequestError, match="was counted, not measured"):
        calibrate_on(stable_diffusion(), accelerators())


def test_an_entry_of_ones_own_comes_before_the_published_one() -> None:
    published = find_accelerator("a100-sxm-80gb")
    own = replace(published, name="my-a100", reported_names=(GPU.name,))
    assert accelerator_of(GPU, ()) == published
    assert accelerator_of(GPU, (own,)) is own


def test_an_unknown_processor_is_as_fast_as_its_products_were() -> None:
    found = accelerator_of(CPU, accelerators())
    assert (found.architecture, found.memory_bytes) == ("cpu", CPU.memory_bytes)
    assert found.peak_flops_per_second == CPU.peak_flops_per_second


def test_a_device_of_which_nothing_is_known_has_to_be_measured() -> None:
    with pytest.raises(RequestError, match="Abacus is not known"):
        accelerator_of(Device("Abacus", "cpu"), accelerators())
