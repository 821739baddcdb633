"""The same call again and again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import diffprof
from diffprof.errors import PipelineError, RefusedCallError, RequestError
from diffprof.record.measured import Limitation
from diffprof.runtime.repetition import warmups_for
from diffprof.runtime.timing.trace_recorder import TraceWarning
from tests.counting.state import state_of
from tests.small_pipelines import SMALL_PIPELINES


def test_warm_ups_are_marked_and_kept_apart() -> None:
    small = SMALL_PIPELINES["dit"]
    run = diffprof.measure(small.build(), warmup=2, iterations=3, sample_hz=0, **small.arguments())
    measured = run.profile.measured
    assert measured is not None
    assert [iteration.warmup for iteration in measured.iterations] == [True, True, False, False, False]
    assert measured.timed_iterations == measured.iterations[2:]
    assert measured.repeated
    began = [iteration.began_ns for iteration in measured.iterations]
    assert began == sorted(began)


def test_every_iteration_generates_the_same_image_and_random_states_are_restored() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    seen: list[torch.Tensor] = []

    def look(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        if step == 1:
            seen.append(tensors["latents"].clone())
        return tensors

    generator = torch.Generator().manual_seed(7)
    arguments = {**small.arguments(), "generator": generator, "callback_on_step_end": look}
    before = {key: value for key, value in state_of(pipeline, generator).items() if "random" in key or "gener" in key}
    diffprof.measure(pipeline, warmup=1, iterations=2, sample_hz=0, **arguments)
    after = {key: value for key, value in state_of(pipeline, generator).items() if "random" in key or "gener" in key}
    assert after == before
    assert len(seen) == 3, "a dry run does not call it"
    assert torch.equal(seen[0], seen[1])
    assert torch.equal(seen[0], seen[2])
    assert seen[0].abs().sum() > 0


def test_progress_bars_of_the_pipeline_are_silent_and_as_before_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    small = SMALL_PIPELINES["dit"]
    pipeline: Any = small.build()
    pipeline.set_progress_bar_config(desc="denoising")
    diffprof.measure(pipeline, warmup=0, iterations=1, sample_hz=0, **small.arguments())
    assert "denoising" not in capsys.readouterr().err
    assert pipeline._progress_bar_config == {"desc": "denoising"}


def test_missing_arguments_are_replaced_by_placeholders() -> None:
    pipeline: Any = SMALL_PIPELINES["stable-diffusion"].build()
    run = diffprof.measure(pipeline, warmup=0, iterations=1, sample_hz=0, num_inference_steps=2, height=32, width=32)
    assert run.profile.request.arguments == {"num_inference_steps": 2, "height": 32, "width": 32}
    assert run.profile.request.defaults["prompt"] == "a photo of a cat"
    assert any("prompt was not given" in text for text in run.profile.ledger.assumptions)


def test_a_wrong_call_is_rejected_before_anything_runs() -> None:
    pipeline: Any = SMALL_PIPELINES["stable-diffusion"].build()
    ran: list[Any] = []
    with pytest.raises(RequestError, match="has no call argument 'stepz'"):
        diffprof.measure(pipeline, stepz=3)
    with pytest.raises(PipelineError, match="divisible by 8") as refused:
        diffprof.measure(pipeline, height=33, width=33, callback_on_step_end=lambda *a: ran.append(a))
    assert isinstance(refused.value, RefusedCallError)
    assert refused.value.run is None
    with pytest.raises(RequestError, match="at least one iteration"):
        diffprof.measure(pipeline, iterations=0)
    for numbers in ({"iterations": 2.5}, {"warmup": None}):
        with pytest.raises(RequestError, match="must be whole numbers"):
            diffprof.measure(pipeline, **numbers)
    with pytest.raises(RequestError, match="trace is True, False or the folder"):
        diffprof.measure(pipeline, trace=None)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="cannot measure a dict"):
        diffprof.measure({})
    with pytest.raises(RequestError, match="cannot measure the class StableDiffusionPipeline"):
        diffprof.measure(type(pipeline))
    assert ran == []


def failing_in(call: int, error: BaseException) -> Any:
    calls: list[int] = []

    def callback(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        calls.append(step)
        if len(calls) == call:
            raise error
        return tensors

    return callback


def test_an_interrupt_keeps_what_was_measured(tmp_path: Path) -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    callback = failing_in(4, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as stopped:
        diffprof.measure(
            small.build(), warmup=1, iterations=3, sample_hz=0, callback_on_step_end=callback, **small.arguments()
        )
    profile = diffprof.load(stopped.value.run.profile.save(tmp_path / "run.json"))
    assert profile.measured is not None
    assert [iteration.error for iteration in profile.measured.iterations] == [None, "interrupted"]
    assert not profile.measured.complete
    assert len(profile.measured.iterations[1].steps) == 2


def test_a_failure_is_reported_and_keeps_what_was_measured() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    callback = failing_in(3, torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."))
    with pytest.raises(
        PipelineError, match=r"ran out of memory; make it smaller.*Tried to allocate 2\.00 GiB"
    ) as failed:
        diffprof.measure(
            small.build(), warmup=1, iterations=3, sample_hz=0, callback_on_step_end=callback, **small.arguments()
        )
    assert len(failed.value.run.profile.measured.iterations) == 2


def test_a_trace_is_of_one_more_call_with_a_few_steps_and_has_the_names_in_it(tmp_path: Path) -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    arguments = {**small.arguments(), "num_inference_steps": 6}
    run = diffprof.measure(small.build(), warmup=0, iterations=1, sample_hz=0, trace=tmp_path, **arguments)
    assert run.trace is not None
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [event["name"] for event in events if event.get("cat") == "user_annotation"]
    assert spans.count("unet_forward") == 4
    assert {"encode_prompt", "text_encoder_forward", "vae_decode", "postprocess", "scheduler_step"} <= set(spans)
    assert [f"step {number}" in spans for number in range(5)] == [True] * 4 + [False]
    measured = run.profile.measured
    assert measured is not None
    assert [iteration.traced for iteration in measured.iterations] == [False, True]
    assert measured.timed_iterations == measured.iterations[:1]
    assert measured.limitations == (Limitation("short_trace", done=4, requested=6),)


def test_a_trace_with_unreadable_names_is_kept_and_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def export(self: Any, path: str) -> None:
        Path(path).write_bytes(b'{"traceEvents": [{"name": "\xff"}]}')

    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", export)
    small = SMALL_PIPELINES["dit"]
    with pytest.warns(TraceWarning, match="not valid UTF-8"):
        run = diffprof.measure(small.build(), warmup=0, iterations=1, sample_hz=0, trace=tmp_path, **small.arguments())
    assert run.trace is not None and run.trace.repaired
    assert json.loads(run.trace.path.read_text(encoding="utf-8"))["traceEvents"] == [{"name": "\ufffd"}]
    assert Limitation("trace_problem", run.trace.warning) in run.limitations


def test_a_trace_that_cannot_be_written_costs_nothing_but_the_trace(tmp_path: Path) -> None:
    small = SMALL_PIPELINES["dit"]
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="not a folder"):
        run = diffprof.measure(
            small.build(), warmup=0, iterations=1, sample_hz=0, trace=tmp_path / "file", **small.arguments()
        )
    assert run.trace is None
    assert run.profile.measured is not None
    assert run.profile.measured.complete
    assert "no_trace" in {limitation.kind for limitation in run.profile.measured.limitations}


def test_compiled_code_that_captures_cuda_graphs_gets_three_warm_ups() -> None:
    pipeline: Any = SMALL_PIPELINES["dit"].build()
    assert warmups_for(pipeline, 1) == 1
    pipeline.vae.decoder = torch.compile(pipeline.vae.decoder, mode="reduce-overhead")
    assert [warmups_for(pipeline, number) for number in (0, 1, 5)] == [0, 3, 5]
    pipeline = SMALL_PIPELINES["dit"].build()
    pipeline.transformer.compile(mode="reduce-overhead")
    assert warmups_for(pipeline, 1) == 3
