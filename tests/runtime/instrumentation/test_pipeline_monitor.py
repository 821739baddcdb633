"""Real small pipelines that are watched while they run."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

import diffprof
from diffprof.errors import RequestError
from diffprof.record.measured import Iteration
from diffprof.runtime.instrumentation import interception
from diffprof.runtime.instrumentation.pipeline_monitor import MonitoredCall, PipelineMonitor
from tests.counting.state import state_of
from tests.extensive import split_cases
from tests.small_pipelines import SMALL_PIPELINES

FAMILIES = {
    "stable-diffusion": ["encode_prompt", "text_encoder_forward", "prepare_latents", "unet_forward", "scheduler_step",
                         "vae_decode", "run_safety_checker", "postprocess"],
    "stable-diffusion-3": ["encode_prompt", "text_encoder_forward", "text_encoder_2_forward", "text_encoder_3_forward",
                           "prepare_latents", "transformer_forward", "scheduler_step", "vae_decode", "postprocess"],
    "sana": ["encode_prompt", "text_encoder_forward", "prepare_latents", "transformer_forward", "scheduler_step",
             "vae_decode", "postprocess"],
    "wan-2.1": ["encode_prompt", "text_encoder_forward", "prepare_latents", "transformer_forward", "scheduler_step",
                "vae_decode", "postprocess"],
    "stable-cascade-combined": ["prior_pipe", "encode_prompt", "prior_text_encoder_forward", "prior_prior_forward",
                                "decoder_pipe", "decoder_forward", "vqgan_decode", "scheduler_step"],
    "stable-diffusion-controlnet": ["encode_prompt", "preprocess", "controlnet_forward", "unet_forward",
                                    "scheduler_step", "vae_decode", "postprocess"],
    "stable-diffusion-ip-adapter": ["image_encoder_forward", "unet_forward", "vae_decode"],
    "stable-diffusion-img2img": ["preprocess", "vae_encode", "unet_forward", "vae_decode"],
}  # fmt: skip


@contextmanager
def monitor(pipeline: Any) -> Iterator[list[MonitoredCall]]:
    calls: list[MonitoredCall] = []
    watch = PipelineMonitor(pipeline, calls.append)
    watch.start()
    try:
        yield calls
    finally:
        watch.stop()


@functools.cache
def run_of(name: str) -> tuple[Any, Iteration]:
    """A pipeline and a call of it, made once and looked at from several sides."""
    small = SMALL_PIPELINES[name]
    pipeline: Any = small.build()
    with monitor(pipeline) as calls:
        pipeline(**small.arguments())
    assert len(calls) == 1
    return pipeline, calls[0].iteration


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_its_sections_by_the_names_of_the_guides(name: str) -> None:
    _, iteration = run_of(name)
    sections = {sample.section for sample in iteration.samples}
    assert set(FAMILIES[name]) <= sections


@pytest.mark.parametrize("name", FAMILIES)
def test_sections_lie_inside_each_other_and_inside_the_call(name: str) -> None:
    _, iteration = run_of(name)
    ends_of_top = 0
    for number, sample in enumerate(iteration.samples):
        if sample.parent is None:
            assert sample.span.start_ns >= ends_of_top
            ends_of_top = sample.span.end_ns
        else:
            around = iteration.samples[sample.parent].span
            assert sample.parent < number
            assert around.start_ns <= sample.span.start_ns <= sample.span.end_ns <= around.end_ns
    assert ends_of_top <= iteration.wall.host_ns


@pytest.mark.parametrize("name", split_cases(FAMILIES, always=("sana", "stable-cascade-combined")))
def test_steps_are_those_that_a_count_finds_in_their_order_the_first_included(name: str) -> None:
    small = SMALL_PIPELINES[name]
    pipeline, iteration = run_of(name)
    counted = diffprof.profile(pipeline, **small.arguments()).steps.stages
    assert sorted(
        sum(step.scheduler == slot for step in iteration.steps) for slot in {step.scheduler for step in iteration.steps}
    ) == sorted(stage.count for stage in counted)
    for before, after in zip(iteration.steps, iteration.steps[1:], strict=False):
        assert before.span.end_ns <= after.span.start_ns
    in_steps = {sample.step for sample in iteration.samples if sample.section == "scheduler_step"}
    assert in_steps == set(range(len(iteration.steps)))


def test_the_image_is_the_same_and_nothing_is_left_behind() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    plain = pipeline(**{**small.arguments(), "output_type": "pt"}).images
    before = state_of(pipeline)
    classes = {type(part): dict(vars(type(part))) for part in (pipeline, *pipeline.components.values())}
    with monitor(pipeline):
        pass
    after = state_of(pipeline)
    assert {key: value for key, value in after.items() if before.get(key) != value} == {}
    with monitor(pipeline):
        assert torch.equal(pipeline(**{**small.arguments(), "output_type": "pt"}).images, plain)
    assert all(dict(vars(owner)) == attributes for owner, attributes in classes.items())
    assert not interception._FUNCTIONS


def raising(error: BaseException) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise error

    return function


PLACES = ["text_encoder.forward", "unet.forward", "scheduler.step", "vae.decode", "image_processor.postprocess"]


ERROR, INTERRUPT = RuntimeError("no"), KeyboardInterrupt()


@pytest.mark.parametrize(
    ("place", "error"),
    [
        *((place, ERROR) for place in PLACES),
        ("unet.forward", INTERRUPT),
        *(pytest.param(place, INTERRUPT, marks=pytest.mark.extensive) for place in PLACES if place != "unet.forward"),
    ],
)
def test_an_exception_anywhere_is_written_down_and_leaves_the_pipeline_clean(
    place: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    part, method = place.split(".")
    owner = type(getattr(pipeline, part))
    # GIVEN a part that fails
    with monkeypatch.context() as patch:
        patch.setattr(owner, method, raising(error))
        # WHEN it is reached
        with pytest.raises(type(error)), monitor(pipeline) as calls:
            pipeline(**small.arguments())
    # THEN what ran until there is known, and the next call is as any other
    iteration = calls[0].iteration
    assert iteration.error == ("interrupted" if isinstance(error, KeyboardInterrupt) else "RuntimeError: no")
    assert any(sample.failed for sample in iteration.samples)
    assert iteration.samples[-1].failed
    assert len(iteration.steps) == {"vae.decode": 2, "image_processor.postprocess": 2}.get(place, 0)
    assert not interception._FUNCTIONS
    with monitor(pipeline) as calls:
        pipeline(**small.arguments())
    assert calls[0].iteration.error is None
    assert len(calls[0].iteration.steps) == 2


def test_an_error_in_the_second_step_keeps_the_first() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()

    def fail(pipe: Any, step: int, timestep: Any, tensors: Any) -> Any:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"), monitor(pipeline) as calls:
        pipeline(**small.arguments(), callback_on_step_end=fail)
    iteration = calls[0].iteration
    assert len(iteration.steps) == 1
    assert (iteration.samples[-1].section, iteration.samples[-1].failed) == ("callback_on_step_end", True)


def test_a_watched_pipeline_is_not_watched_twice() -> None:
    pipeline: Any = SMALL_PIPELINES["stable-diffusion"].build()
    with (
        monitor(pipeline),
        pytest.raises(RequestError, match="is being measured already"),
        monitor(pipeline),
    ):
        pass
    with monitor(pipeline):
        pass


def test_two_pipelines_of_one_class_do_not_see_each_other() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    first: Any = small.build()
    second: Any = small.build()
    with monitor(first) as calls:
        second(**small.arguments())
        assert calls == []
        with monitor(second) as others:
            first(**small.arguments())
            second(**small.arguments())
            second(**small.arguments())
    assert (len(calls), len(others)) == (1, 2)
    assert len({len(call.iteration.samples) for call in (*calls, *others)}) == 1


def test_two_threads_that_share_a_pipeline_have_separate_calls() -> None:
    small = SMALL_PIPELINES["dit"]
    pipeline: Any = small.build()
    twin: Any = small.build()
    with monitor(pipeline) as calls, monitor(twin) as others:
        threads = [threading.Thread(target=lambda one=one: one(**small.arguments())) for one in (pipeline, twin)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    shapes = [[sample.section for sample in call.iteration.samples] for call in (*calls, *others)]
    assert len(shapes) == 2
    assert shapes[0] == shapes[1]


def test_a_component_called_directly_is_a_separate_call() -> None:
    pipeline: Any = SMALL_PIPELINES["stable-diffusion"].build()
    with monitor(pipeline) as calls, torch.no_grad():
        pipeline.vae.enable_slicing()  # a switch computes nothing
        pipeline.vae.decode(torch.zeros(1, 4, 8, 8))
    assert [(call.iteration.entry, len(call.iteration.samples)) for call in calls] == [("vae_decode", 1)]


def test_equal_prompts_have_equal_digests() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    digests = []
    with monitor(pipeline) as calls:
        for prompt in ("a cat", "a cat", "a dog"):
            pipeline(**{**small.arguments(), "prompt": prompt})
    for call in calls:
        digests += [sample.digest for sample in call.iteration.samples if sample.section == "encode_prompt"]
    assert digests[0] == digests[1] != digests[2]
    assert None not in digests


def test_a_vae_whose_forward_was_compiled_has_its_row_of_decoding() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    pipeline.vae = torch.compile(pipeline.vae, backend="eager")
    with monitor(pipeline) as calls:
        pipeline(**small.arguments())
    assert [sample.section for sample in calls[0].iteration.samples].count("vae_decode") == 1


@pytest.mark.parametrize("way", split_cases(["torch.compile", "module.compile"], always=("torch.compile",)))
def test_a_compiled_component_is_seen_as_the_component_that_it_is_and_not_compiled_again(way: str) -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    if way == "torch.compile":
        pipeline.unet = torch.compile(pipeline.unet, backend="eager")
    else:
        pipeline.unet.compile(backend="eager")
    plain = pipeline(**{**small.arguments(), "output_type": "pt"}).images
    compiled = dict(torch._dynamo.utils.counters["frames"])
    with monitor(pipeline) as calls:
        picture = pipeline(**{**small.arguments(), "output_type": "pt"}).images
    again = pipeline(**{**small.arguments(), "output_type": "pt"}).images
    assert dict(torch._dynamo.utils.counters["frames"]) == compiled
    assert torch.equal(plain, picture)
    assert torch.equal(plain, again)
    sections = [sample.section for sample in calls[0].iteration.samples]
    assert sections.count("unet_forward") == 2
    assert len(calls[0].iteration.steps) == 2


@pytest.mark.extensive
def test_a_method_that_was_compiled_by_itself_is_seen_and_counted() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    expected = diffprof.profile(pipeline, **small.arguments())
    pipeline.vae.decode = compiled = torch.compile(pipeline.vae.decode, backend="eager")
    assert diffprof.profile(pipeline, **small.arguments()).calls == expected.calls
    with monitor(pipeline) as calls:
        pipeline(**small.arguments())
    assert "vae_decode" in [sample.section for sample in calls[0].iteration.samples]
    assert pipeline.vae.decode is compiled


def test_a_count_inside_a_callback_is_not_part_of_the_call() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    other: Any = small.build()

    def count(pipe: Any, step: int, timestep: Any, tensors: Any) -> dict[str, Any]:
        diffprof.profile(other, **small.arguments())
        diffprof.profile(pipe, **small.arguments())
        return {}

    with monitor(pipeline) as calls:
        pipeline(**{**small.arguments(), "num_inference_steps": 1}, callback_on_step_end=count)
    sections = [sample.section for sample in calls[0].iteration.samples]
    assert sections.count("unet_forward") == 1
    assert len(calls) == 1
