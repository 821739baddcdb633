"""What a prediction says about itself in one line."""

from __future__ import annotations

from diffprof.record.prediction import PredictedTime, Prediction
from diffprof.record.run_settings import RunSettings


def test_one_line_has_the_time_on_every_accelerator() -> None:
    times = {
        name: PredictedTime(seconds, 0, 0, 0, 0, {}, "compute", None, None, None)
        for name, seconds in (("l4", 12.3456), ("h100-sxm", 1.5))
    }
    assert repr(Prediction("sdxl", RunSettings(), times)) == "<Prediction for sdxl: l4 12.3 s, h100-sxm 1.5 s>"
