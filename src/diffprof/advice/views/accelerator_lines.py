"""What accelerators make of a profile, in a line each: shown below a profile that names some."""

from __future__ import annotations

from collections.abc import Sequence

from diffprof.advice.predict import PredictionRequest, predict_profile
from diffprof.advice.views.prediction_tables import LIMITED
from diffprof.record.profile import Profile
from diffprof.render import numbers


def accelerator_lines(profile: Profile, accelerators: Sequence[str]) -> list[str]:
    """All that can be said about the profile on each of the accelerators."""
    return time_lines(profile, accelerators)


def time_lines(profile: Profile, accelerators: Sequence[str]) -> list[str]:
    """How long the generation takes on each of the accelerators."""
    prediction = predict_profile(profile, PredictionRequest(tuple(accelerators)))
    return [
        f"time on {name}: {numbers.estimate(time.total_seconds)} "
        f"({numbers.estimate(time.low_seconds)} to {numbers.estimate(time.high_seconds)}), limited by "
        f"{LIMITED[time.limited_by]}; `diffprof predict` shows more"
        for name, time in prediction.accelerators.items()
    ]
