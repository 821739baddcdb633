"""A call that does not work as it was asked for is tried with what the pipeline says it needs."""

from __future__ import annotations

from typing import Any

import pytest

import diffprof
from diffprof.counting import attempts
from diffprof.counting.attempts import _next_attempts, _supply
from diffprof.counting.dry_run import dry_run
from diffprof.errors import OutOfMemoryError, PipelineError
from diffprof.pipelines.arguments import CallArguments
from tests.small_pipelines import SMALL_PIPELINES


def numbers_only(name: str) -> tuple[Any, dict[str, Any]]:
    small = SMALL_PIPELINES[name]
    plain = {key: value for key, value in small.arguments().items() if isinstance(value, int | float | str)}
    return small.build(), plain


def test_a_pipeline_that_only_works_with_tiling_gets_it_and_is_left_without() -> None:
    pipeline, arguments = numbers_only("allegro")
    pipeline.vae.use_tiling = False
    done = diffprof.profile(pipeline, **arguments)
    assert "vae_tiling was enabled: the pipeline does not work without it" in done.ledger.assumptions
    assert not pipeline.vae.use_tiling


@pytest.mark.parametrize("name", ["wan-video-to-video", "cogvideox-fun-control", "stable-diffusion-inpaint"])
def test_what_the_pipeline_asks_for_is_supplied(name: str) -> None:
    pipeline, arguments = numbers_only(name)
    done = diffprof.profile(pipeline, **arguments)
    assert done.total.macs > 0
    assert any("was not given: " in sentence and "image" in sentence for sentence in done.ledger.assumptions)


def test_arguments_that_no_message_names_are_supplied_too() -> None:
    pipeline, arguments = numbers_only("easyanimate")
    arguments.pop("negative_prompt", None)
    done = diffprof.profile(pipeline, **arguments | {"prompt": "a cat"})
    assert "negative_prompt was not given: '' stands in" in done.ledger.assumptions


def test_what_was_missing_is_tried_first() -> None:
    tried = _next_attempts(frozenset(), ["video", "mask"], ["image", "video", "mask"])
    sets = [("video", "mask"), ("video",), ("mask",), ("image",), ("image", "video"), ("image", "video", "mask")]
    assert list(dict.fromkeys(tried)) == [frozenset(names) for names in sets]
    assert _next_attempts(frozenset({"video"}), ["mask"], ["image", "video", "mask"])[0] == {"video", "mask"}


def test_texts_and_a_generator_that_a_pipeline_cannot_do_without_are_supplied() -> None:
    pipeline, arguments = numbers_only("visual-cloze")
    for name in ("task_prompt", "content_prompt"):
        arguments.pop(name, None)
    done = diffprof.profile(pipeline, **arguments)
    supplied = [sentence.partition(" was not given")[0] for sentence in done.ledger.assumptions]
    assert {"task_prompt", "content_prompt", "image", "generator"} <= set(supplied)


def test_a_call_that_fails_again_with_what_it_needs_ends_with_the_second_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first only says that there is no image."""
    pipeline, arguments = numbers_only("stable-diffusion-img2img")

    def break_down(*_: Any, **__: Any) -> None:
        raise RuntimeError("the latents are broken")

    monkeypatch.setattr(pipeline, "prepare_latents", break_down)
    with pytest.raises(PipelineError, match="the latents are broken"):
        diffprof.profile(pipeline, **arguments)


def test_a_refusal_that_names_numbers_names_those_that_were_requested() -> None:
    """Tried again with a width, as the message names one, the pipeline says the same of a width that nobody gave."""
    pipeline, arguments = numbers_only("stable-diffusion-xl")
    arguments.pop("width", None)
    with pytest.raises(PipelineError, match=r"have to be divisible by 8 but are 100 and (?!100\.)\d+\."):
        diffprof.profile(pipeline, **arguments | {"height": 100})


def test_a_result_of_which_no_image_can_be_made_stays_an_array() -> None:
    pipeline, arguments = numbers_only("stable-diffusion-ldm3d")
    arguments.pop("output_type", None)
    assert diffprof.profile(pipeline, **arguments).request.value("output_type") == "np"


def test_a_call_that_works_in_no_way_ends_with_its_own_message() -> None:
    pipeline, arguments = numbers_only("stable-diffusion-inpaint")
    with pytest.raises(PipelineError, match="`prompt` has to be of type"):
        diffprof.profile(pipeline, **arguments | {"prompt": 5})


def test_code_that_checks_values_which_depend_on_weights_passes_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline, arguments = numbers_only("stable-diffusion")
    owner = type(pipeline.unet)
    original = owner.get_aug_embed

    def check(unet: Any, emb: Any, *args: Any, **kwargs: Any) -> Any:
        assert (emb == emb).all()
        return original(unet, emb, *args, **kwargs)

    monkeypatch.setattr(owner, "get_aug_embed", check)
    done = diffprof.profile(pipeline, **arguments)
    assert any("depend on weights: taken as true" in sentence for sentence in done.ledger.assumptions)


def test_an_input_that_is_made_of_parts_which_the_pipeline_lacks_is_not_supplied() -> None:
    call = CallArguments({}, {}, ("image_latents", "negative_prompt"), {})
    assert _supply(object(), call, frozenset({"image_latents", "negative_prompt"})) == {"negative_prompt": ""}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments of every attempt."""
    noted: list[dict[str, Any]] = []

    def run(owner: Any, given: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        noted.append(given)
        return dry_run(owner, given, *args, **kwargs)

    monkeypatch.setattr(attempts, "dry_run", run)
    return noted


def test_a_failure_that_no_input_changes_is_not_tried_with_each(
    monkeypatch: pytest.MonkeyPatch, made: list[dict[str, Any]]
) -> None:
    pipeline, arguments = numbers_only("wan-vace")

    def break_down(*_: Any, **__: Any) -> None:
        raise RuntimeError("the layers do not fit")

    monkeypatch.setattr(pipeline, "encode_prompt", break_down)
    with pytest.raises(PipelineError, match="the layers do not fit"):
        diffprof.profile(pipeline, **arguments)
    assert {"video", "mask", "negative_prompt"} <= made[-1].keys()
    assert len(made) == 4, [set(given) - set(arguments) for given in made]


def test_a_model_without_what_the_pipeline_asks_it_for_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, made: list[dict[str, Any]]
) -> None:
    pipeline, arguments = numbers_only("stable-diffusion-img2img")
    monkeypatch.setattr(pipeline, "encode_prompt", lambda *_, **__: pipeline.text_encoder.text_model_of_old)
    with pytest.raises(PipelineError, match="no attribute 'text_model_of_old'"):
        diffprof.profile(pipeline, **arguments, image="32x32")
    assert len(made) == 1


def test_a_call_that_runs_out_of_memory_is_not_tried_with_other_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the answer would depend on the memory that there is."""
    pipeline, arguments = numbers_only("stable-diffusion-img2img")
    begun = []

    def run_out(*_: Any, **__: Any) -> None:
        raise MemoryError

    def count_attempts(*args: Any, **options: Any) -> Any:
        begun.append(1)
        return dry_run(*args, **options)

    monkeypatch.setattr(attempts, "dry_run", count_attempts)
    monkeypatch.setattr(type(pipeline), "check_inputs", run_out)
    with pytest.raises(OutOfMemoryError):
        diffprof.profile(pipeline, **arguments)
    assert begun == [1]
