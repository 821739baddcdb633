"""Lines about predicted memory and time on accelerators, shown below a profile."""

from __future__ import annotations

from collections.abc import Sequence

from diffprof.advice.fit import FitRequest, fit_profile
from diffprof.advice.predict import PredictionRequest, predict_profile
from diffprof.advice.views.fit_tables import WHEN, verdict
from diffprof.advice.views.prediction_tables import LIMITED
from diffprof.prediction.timeline import has_allocations
from diffprof.record.profile import Profile
from diffprof.render import numbers


def accelerator_lines(profile: Profile, accelerators: Sequence[str]) -> list[str]:
    """Lines about the predicted memory and time on each accelerator."""
    return [*memory_lines(profile, accelerators), *time_lines(profile, accelerators)]


def time_lines(profile: Profile, accelerators: Sequence[str]) -> list[str]:
    """A line about the predicted time on each accelerator."""
    prediction = predict_profile(profile, PredictionRequest(tuple(accelerators)))
    return [
        f"time on {name}: {numbers.estimate(time.total_seconds)} "
        f"({numbers.estimate(time.low_seconds)} to {numbers.estimate(time.high_seconds)}), limited by "
        f"{LIMITED[time.limited_by]}; `diffprof predict` shows more"
        for name, time in prediction.accelerators.items()
    ]


def memory_lines(profile: Profile, accelerators: Sequence[str]) -> list[str]:
    """A line about the predicted memory on each accelerator."""
    lines: list[str] = []
    for name in accelerators if has_allocations(profile) else ():
        fit = fit_profile(profile, FitRequest(accelerator=name, with_changes=False))
        where = ".".join(part for part in (fit.peak.component, fit.peak.module) if part)
        lines.append(
            f"memory: {verdict(fit)}; peak {WHEN[fit.peak.stage]}"
            f"{f' in {where}' if where else ''}; `diffprof fit` shows more"
        )
    return lines
