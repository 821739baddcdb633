"""What really runs is counted by the same formulas, to the same integer as the dry run."""

from __future__ import annotations

import pytest

from diffprof.measurement.counting.real import RealMode
from diffprof.measurement.counting.recorder import Recorder
from diffprof.measurement.dry_run import dry_run
from tests.small_pipelines import SMALL_PIPELINES


@pytest.mark.parametrize("name", ["stable-diffusion", "flux", "sana", "wan-2.1"])
def test_a_real_run_under_the_recorder_is_the_dry_run(name: str) -> None:
    small = SMALL_PIPELINES[name]
    pipeline = small.build()
    dry = dry_run(pipeline, small.arguments())
    recorder = Recorder()
    with RealMode(recorder):
        pipeline(**small.arguments())
    real = recorder.outside.cost(0)
    assert real.work.macs == sum(call.macs for call in dry.calls) + dry.outside.work.macs
    attention = sum(shape.macs for call in dry.calls for shape in call.cost.attention)
    assert sum(shape.macs for shape in real.attention) == attention
    assert all(operation.known for operation in real.operations)
