"""`diffprof.measure` and `diffprof.measuring`, as a user sees them."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

import diffprof
from diffprof.errors import RequestError
from diffprof.record.measured import SystemPoint
from diffprof.runtime.instrumentation.system_sampler import SystemSampler
from tests.small_pipelines import SMALL_PIPELINES

SMALL, SMALLER = SMALL_PIPELINES["stable-diffusion"], SMALL_PIPELINES["dit"]
PATIENCE_SECONDS = 60
"""After that something hangs; no test waits that long."""


def test_a_run_reads_as_a_report(tmp_path: Path) -> None:
    run = diffprof.measure(SMALL.build(), warmup=1, iterations=2, **SMALL.arguments())
    text = str(run)
    for word in ("unet_forward", "text_encoder_forward", "vae_decode", "scheduler_step", "between sections", "wall"):
        assert word in text
    assert repr(run) == "<Run of 3 calls>"
    assert diffprof.load(run.profile.save(tmp_path / "run.json")) == run.profile


def test_measuring_records_what_the_user_runs_and_returns_its_result() -> None:
    pipeline: Any = SMALLER.build()
    with diffprof.measuring(pipeline) as run:
        image = pipeline(**SMALLER.arguments()).images[0]
    assert image is not None
    assert run.profile.measured is not None
    assert not run.profile.measured.repeated
    assert run.limitations == ()


def test_measuring_twice_at_once_is_rejected_with_a_message() -> None:
    pipeline: Any = SMALLER.build()
    with diffprof.measuring(pipeline), pytest.raises(RequestError, match="is being measured already; use the run"):
        diffprof.measure(pipeline, **SMALLER.arguments())


def test_without_a_call_there_is_nothing_to_show() -> None:
    with diffprof.measuring(SMALLER.build()) as run:
        pass
    assert str(run) == "nothing was measured"
    with pytest.raises(RequestError, match="the pipeline was not called"):
        _ = run.profile


def test_the_machine_is_sampled_during_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a call that goes on until a point was taken in it, however slow the machine is
    taken = threading.Event()
    keep = SystemSampler._keep

    def keep_and_notify(self: SystemSampler, point: SystemPoint) -> None:
        keep(self, point)
        taken.set()

    def wait_for_points(pipe: Any, step: int, timestep: Any, values: dict[str, Any]) -> dict[str, Any]:
        for _ in range(2):  # the first may have been read before the call
            taken.clear()
            assert taken.wait(PATIENCE_SECONDS)
        return {}

    monkeypatch.setattr(SystemSampler, "_keep", keep_and_notify)
    arguments = {**SMALL.arguments(), "callback_on_step_end": wait_for_points}
    run = diffprof.measure(SMALL.build(), warmup=0, iterations=1, sample_hz=200, **arguments)
    measured = run.profile.measured
    assert measured is not None
    assert measured.system
    assert all(point.rss_bytes > 0 for point in measured.system)
    ends = [iteration.began_ns + iteration.wall.host_ns for iteration in measured.iterations]
    assert all(0 <= point.at_ns <= max(ends) for point in measured.system)


def test_a_run_does_not_keep_the_pipeline_alive() -> None:
    pipeline: Any = SMALLER.build()
    run = diffprof.measure(pipeline, warmup=0, iterations=1, **SMALLER.arguments())
    with diffprof.measuring(pipeline) as other:
        pipeline(**SMALLER.arguments())
    weights = weakref.ref(pipeline.transformer)
    del pipeline
    gc.collect()
    assert weights() is None
    assert run.profile.total.macs == other.profile.total.macs > 0
    assert run.profile.measured.device.kind == "cpu"
    assert str(run)
