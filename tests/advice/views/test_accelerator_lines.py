"""What accelerators make of a profile, in a line each."""

from __future__ import annotations

from diffprof.advice.predict import PredictionRequest, predict_profile
from diffprof.advice.views.accelerator_lines import accelerator_lines, memory_lines, time_lines
from diffprof.render import numbers
from tests.sample_profiles import stable_diffusion

PROFILE = stable_diffusion(unet_calls=2)


def test_each_accelerator_has_the_predicted_time() -> None:
    slow, fast = time_lines(PROFILE, ["t4", "h100-sxm"])
    times = predict_profile(PROFILE, PredictionRequest(("t4", "h100-sxm"))).accelerators
    assert slow.startswith(f"time on t4: {numbers.estimate(times['t4'].total_seconds)} (")
    assert fast.startswith(f"time on h100-sxm: {numbers.estimate(times['h100-sxm'].total_seconds)} (")


def test_memory_is_not_said_where_it_is_not_known() -> None:
    assert memory_lines(PROFILE, ["t4"]) == []
    assert accelerator_lines(PROFILE, ["t4"]) == time_lines(PROFILE, ["t4"])
