"""The measured memory of two profiles."""

from __future__ import annotations

from diffprof.comparison.memory_change import memory_change
from tests.sample_iterations import CPU, GPU, iteration_on
from tests.sample_profiles import measured_profile, stable_diffusion


def test_memory_is_compared_where_both_were_measured_and_have_the_same_kind() -> None:
    on_gpu = measured_profile(device=GPU, iterations=[iteration_on(GPU)])
    on_cpu = measured_profile(device=CPU, iterations=[iteration_on(CPU)])
    change = memory_change(on_gpu, on_gpu)
    assert change is not None
    assert change.on_device
    assert change.peak.ratio == 1
    assert memory_change(on_gpu, on_cpu) is None
    assert memory_change(stable_diffusion(), on_gpu) is None
