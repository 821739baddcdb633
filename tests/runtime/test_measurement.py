"""What was measured stands beside exactly what ran."""

from __future__ import annotations

import threading
import types
from collections import Counter
from typing import Any, cast

import pytest
import torch
from diffusers import EulerDiscreteScheduler
from peft import LoraConfig

import diffprof
from diffprof.errors import DiffprofError, RequestError
from diffprof.record.measured import Limitation
from diffprof.record.profile import Profile
from diffprof.runtime import measurement as engine
from diffprof.runtime.instrumentation import pipeline_monitor
from tests.counting.real_run import real_run
from tests.extensive import split_cases
from tests.small_pipelines import SMALL_PIPELINES

FAMILIES = [
    "stable-diffusion", "stable-diffusion-3", "flux", "sana", "wan-2.1", "cogvideox", "stable-cascade-combined",
    "kandinsky-2.2-combined", "stable-diffusion-controlnet", "stable-diffusion-two-controlnets",
    "stable-diffusion-lora", "stable-diffusion-ip-adapter", "stable-diffusion-img2img", "stable-diffusion-tiled-vae",
    "marigold-depth", "stable-diffusion-pndm", "ltx2",
]  # fmt: skip


def measure_one_call(name: str, **arguments: Any) -> tuple[Any, Profile]:
    small = SMALL_PIPELINES[name]
    pipeline: Any = small.build()
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        pipeline(**{**small.arguments(), **arguments})
    return pipeline, run.profile


@pytest.mark.parametrize("name", split_cases(FAMILIES, always=("stable-diffusion", "kandinsky-2.2-combined")))
def test_every_call_of_a_component_has_the_count_of_that_very_call(name: str) -> None:
    small = SMALL_PIPELINES[name]
    counted = diffprof.profile(small.build(), **small.arguments())
    _, profile = measure_one_call(name)
    assert profile.measured is not None
    assert profile.measured.limitations == ()
    assert profile.total.macs == counted.total.macs
    assert [call.macs for call in profile.calls] == [call.macs for call in counted.calls]
    numbers = [sample.call for sample in profile.measured.iterations[0].samples if sample.call is not None]
    assert numbers == list(range(len(profile.calls) - 1)), "all but the pipeline's own code"
    for sample in profile.measured.iterations[0].samples:
        if sample.call is not None:
            call = profile.calls[sample.call]
            assert sample.section == f"{call.component}_{call.method}"
            assert (sample.step is None) == (call.step is None)


@pytest.mark.parametrize(
    "name", split_cases(["stable-diffusion", "stable-diffusion-3", "sana", "wan-2.1"], always=("stable-diffusion-3",))
)
def test_the_count_is_that_of_the_operations_that_torch_executed(name: str) -> None:
    small = SMALL_PIPELINES[name]
    pipeline, profile = measure_one_call(name)
    methods = {call.method for call in profile.calls}
    components = {slot: getattr(pipeline, slot) for slot in profile.components if slot != "pipeline"}
    run = real_run(pipeline, components, methods, small.arguments())
    counts = [(call.component, call.method, call.macs) for call in profile.calls[:-1] if call.macs]
    assert Counter(counts) == Counter(run.calls)


def test_equal_calls_are_iterations_of_one_profile_and_different_calls_are_separate_profiles() -> None:
    small = SMALL_PIPELINES["dit"]
    pipeline: Any = small.build()
    arguments = {**small.arguments(), "num_inference_steps": 3}
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        pipeline(**small.arguments())
        pipeline(**arguments)
        pipeline(**small.arguments())
    first, second = run.profiles
    assert first.measured is not None and second.measured is not None
    assert [len(first.measured.iterations), len(second.measured.iterations)] == [2, 1]
    assert (first.steps.count, second.steps.count) == (2, 3)
    assert run.profile.steps.count == 3


def test_a_feature_enabled_between_two_calls_makes_them_different() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline, arguments = cast(Any, small.build()), {**small.arguments(), "num_inference_steps": 1}
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        pipeline(**arguments)
        pipeline.scheduler = EulerDiscreteScheduler.from_config(pipeline.scheduler.config)
        pipeline(**arguments)
        pipeline.vae.enable_slicing()
        pipeline(**arguments)
        pipeline.enable_freeu(s1=0.9, s2=0.2, b1=1.2, b2=1.4)  # attributes of blocks deep inside
        pipeline(**arguments)
    assert len(run.profiles) == 4


def test_adapters_that_are_loaded_and_switched_between_calls_are_counted_as_they_were() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline, arguments = cast(Any, small.build()), {**small.arguments(), "num_inference_steps": 1}
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        pipeline(**arguments)
        pipeline.unet.add_adapter(LoraConfig(r=4, target_modules=["to_q"]), adapter_name="style")
        pipeline(**arguments)
        pipeline.disable_lora()
        pipeline(**arguments)
    without, with_it, disabled = (profile.total.macs for profile in run.profiles)
    assert without == disabled < with_it


class OwnScheduler(EulerDiscreteScheduler):  # type: ignore[misc]
    """As somebody might write one: what it does not define is its base's."""


def test_parts_that_are_put_in_place_of_others_between_calls_are_watched_too() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline, arguments = cast(Any, small.build()), {**small.arguments(), "num_inference_steps": 1}
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        for scheduler in (EulerDiscreteScheduler, OwnScheduler):
            pipeline.scheduler = scheduler.from_config(pipeline.scheduler.config)
            pipeline(**arguments)
        pipeline.unet = small.build().unet
        pipeline(**arguments)
    for profile in run.profiles:
        assert profile.measured is not None
        assert profile.measured.limitations == ()
        (iteration,) = profile.measured.iterations
        assert [step.scheduler for step in iteration.steps] == ["scheduler"]
        assert sum(sample.section == "unet_forward" for sample in iteration.samples) == 1
    assert len(run.profiles) == 3
    assert "step" not in vars(OwnScheduler), "it is as it was"


@pytest.mark.parametrize("name", ["stable-diffusion-img2img", "text-to-video-zero"])
def test_objects_created_for_every_call_do_not_make_equal_calls_different(name: str) -> None:
    """Pictures and callbacks that are given; processors and schedulers that a pipeline makes itself."""
    small = SMALL_PIPELINES[name]
    pipeline: Any = small.build()
    callbacks = {"callback_on_step_end": lambda *given: given[-1]} if name == "stable-diffusion-img2img" else {}
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        for _ in range(2):
            again = {key: types.FunctionType(value.__code__, {}) for key, value in callbacks.items()}
            pipeline(**small.arguments(), **again)
    (profile,) = run.profiles
    assert profile.measured is not None
    assert len(profile.measured.iterations) == 2


def test_equal_calls_of_several_threads_are_iterations_of_one_profile() -> None:
    small = SMALL_PIPELINES["dit"]
    pipeline: Any = small.build()
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        threads = [threading.Thread(target=lambda: pipeline(**small.arguments())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    (profile,) = run.profiles
    assert profile.measured is not None
    assert len(profile.measured.iterations) == 3


def test_an_interrupt_of_the_count_keeps_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    small = SMALL_PIPELINES["dit"]
    pipeline: Any = small.build()

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "dry_run", interrupted)
    with diffprof.measuring(pipeline, sample_hz=0) as run, pytest.raises(KeyboardInterrupt):
        pipeline(**small.arguments())
    assert run.profile.measured is not None
    (iteration,) = run.profile.measured.iterations
    assert len(iteration.steps) == 2
    assert run.profile.measured.limitations == (Limitation("count_interrupted"),)


def test_a_callback_that_ends_guidance_early_is_counted_as_it_acted_and_is_not_called_again() -> None:
    # GIVEN a callback that switches guidance off after the first step, as the documentation of diffusers shows
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()
    called: list[int] = []

    def end_guidance(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        called.append(step)
        if step == 0:
            pipe._guidance_scale = 0.0
            tensors["prompt_embeds"] = tensors["prompt_embeds"].chunk(2)[-1]
        return tensors

    # WHEN
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        pipeline(
            **{**small.arguments(), "num_inference_steps": 4},
            callback_on_step_end=end_guidance,
            callback_on_step_end_tensor_inputs=["latents", "prompt_embeds"],
        )
    # THEN
    assert called == [0, 1, 2, 3]
    profile = run.profile
    full, *rest = profile.steps.stages[0].step_macs
    assert [2 * macs for macs in rest] == [full] * 3
    assert profile.measured is not None
    sections = [sample.section for sample in profile.measured.iterations[0].samples]
    assert sections.count("callback_on_step_end") == 4


def test_a_callback_that_stops_early_is_counted_as_it_acted() -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()

    def stop(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        pipe._interrupt = step >= 1
        return tensors

    with diffprof.measuring(pipeline, sample_hz=0) as run:
        pipeline(**{**small.arguments(), "num_inference_steps": 5}, callback_on_step_end=stop)
    assert run.profile.steps.count == 2
    assert run.profile.measured is not None
    assert len(run.profile.measured.iterations[0].steps) == 2


def test_what_a_pipeline_keeps_from_its_first_call_is_counted_where_it_ran() -> None:
    small = SMALL_PIPELINES["marigold-depth"]
    pipeline: Any = small.build()
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        pipeline(**small.arguments())
        pipeline(**small.arguments())
    first, second = run.profiles
    assert first.components["text_encoder"].macs > 0
    assert second.components["text_encoder"].macs == 0
    for profile, times in ((first, 1), (second, 0)):
        assert profile.measured is not None
        assert profile.measured.limitations == ()
        assert sum(sample.component == "text_encoder" for sample in profile.measured.iterations[0].samples) == times


def test_a_call_that_fails_leaves_a_profile_that_can_be_read(tmp_path: Any) -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline: Any = small.build()

    def fail(pipe: Any, step: int, timestep: Any, tensors: Any) -> Any:
        raise ValueError("enough")

    with diffprof.measuring(pipeline, sample_hz=0) as run, pytest.raises(ValueError, match="enough"):
        pipeline(**small.arguments(), callback_on_step_end=fail)
    profile = diffprof.load(run.profile.save(tmp_path / "failed.json"))
    assert profile.measured is not None
    assert not profile.measured.complete
    assert profile.measured.iterations[0].error == "ValueError: enough"
    assert len(profile.measured.iterations[0].steps) == 1
    assert profile.total.macs > 0, "what was asked for can be counted all the same"


def test_an_error_of_the_pipeline_is_raised_unchanged() -> None:
    pipeline: Any = SMALL_PIPELINES["stable-diffusion"].build()
    with diffprof.measuring(pipeline, sample_hz=0) as run, pytest.raises(ValueError, match="divisible by 8"):
        pipeline("a cat", height=33, width=33)
    assert run.profile.measured is not None
    assert "divisible by 8" in (run.profile.measured.iterations[0].error or "")
    assert "not_counted" in {limitation.kind for limitation in run.profile.measured.limitations}


def test_a_failing_count_does_not_lose_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    small = SMALL_PIPELINES["dit"]
    pipeline: Any = small.build()

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise DiffprofError("it cannot be counted today")

    monkeypatch.setattr(engine, "dry_run", fail)
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        picture = pipeline(**small.arguments())
    assert picture.images is not None
    assert run.profile.measured is not None
    assert run.profile.measured.limitations == (Limitation("not_counted", "it cannot be counted today"),)
    assert run.profile.total.macs == 0
    assert run.profile.total.parameters > 0


def test_an_internal_error_does_not_lose_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    small = SMALL_PIPELINES["dit"]
    pipeline: Any = small.build()
    monkeypatch.setattr(engine, "align_calls", lambda *args: 1 / 0)
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        assert pipeline(**small.arguments()).images is not None
    assert run.limitations == (Limitation("not_evaluated", "ZeroDivisionError: division by zero"),)


def test_component_calls_outside_the_pipeline_are_kept_and_noted() -> None:
    pipeline: Any = SMALL_PIPELINES["dit"].build()
    with diffprof.measuring(pipeline, sample_hz=0) as run, torch.no_grad():
        pipeline.vae.decode(torch.zeros(1, 4, 8, 8))
    assert run.profile.measured is not None
    assert run.profile.measured.iterations[0].entry == "vae_decode"
    assert run.profile.measured.limitations[0].kind == "component_alone"


class Trouble:
    """A recorder whose device fails in ways that nobody has thought of."""

    def __init__(self, *args: Any) -> None:
        raise AttributeError("module 'torch' has no attribute 'privateuseone'")


def test_what_cannot_be_recorded_is_computed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    small = SMALL_PIPELINES["dit"]
    pipeline: Any = small.build()
    expected = pipeline(**{**small.arguments(), "output_type": "pt"}).images
    monkeypatch.setattr(pipeline_monitor, "IterationRecorder", Trouble)
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        image = pipeline(**{**small.arguments(), "output_type": "pt"}).images
    assert torch.equal(image, expected)
    reason = Limitation("not_evaluated", "AttributeError: module 'torch' has no attribute 'privateuseone'")
    assert set(run.limitations) == {reason} and run.profiles == ()


def test_a_call_whose_record_cannot_be_closed_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise ValueError("no record")

    monkeypatch.setattr(pipeline_monitor.IterationRecorder, "close", fail)
    small = SMALL_PIPELINES["dit"]
    pipeline: Any = small.build()
    with diffprof.measuring(pipeline, sample_hz=0) as run:
        assert pipeline(**small.arguments()).images is not None
    assert run.limitations == (Limitation("not_evaluated", "ValueError: no record"),)


def test_a_pipeline_without_weights_is_refused_before_its_call() -> None:
    small = SMALL_PIPELINES["dit"]
    pipeline: Any = small.build()
    pipeline.vae.to("meta")
    with pytest.raises(RequestError, match=r"vae \(encoder.conv_in\) has no weights, they are on the meta device"):
        diffprof.measure(pipeline, **small.arguments())
    assert diffprof.profile(pipeline, **small.arguments()).total.macs > 0
