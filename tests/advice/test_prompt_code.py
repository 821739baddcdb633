"""Prompts that are encoded first: the call then gives the very same result, with the text encoders gone."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest

from diffprof.advice.prompt_code import (
    ENCODED,
    ENCODER_ARGUMENTS,
    ENCODES_WITH_DENOISER,
    NEGATIVE_PROMPTS,
    PromptCode,
)
from tests.extensive import split_cases
from tests.small_pipelines import SMALL_PIPELINES, SmallPipeline

SMALL = {small.class_name: small for small in reversed(list(SMALL_PIPELINES.values())) if small.class_name in ENCODED}
ALWAYS = ("FluxPipeline", "StableDiffusionXLPipeline", "StableDiffusion3Pipeline", "WanPipeline", "QwenImagePipeline")


GUARDED = ("Cosmos2TextToImagePipeline", "Cosmos2VideoToWorldPipeline")
"""Pipelines that are not loaded without a package that is not installed."""


def first_result(output: Any) -> Any:
    return numpy.asarray(numpy.stack([numpy.asarray(one, dtype=float) for one in output[0]]))


def call_arguments(small: SmallPipeline, images: int) -> dict[str, Any]:
    import diffusers
    import torch

    arguments = {**small.arguments(), "generator": torch.Generator().manual_seed(0), "output_type": "np"}
    takes = inspect.signature(getattr(diffusers, small.class_name).__call__).parameters
    if images > 1 and "num_images_per_prompt" in takes:
        arguments["num_images_per_prompt"] = images
    return arguments


def encoded_arguments(pipe: Any, pipeline: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are left for the call after the lines of the program have encoded the prompt."""
    plain = {name: value for name, value in arguments.items() if isinstance(value, str | int | float | bool | tuple)}
    others = {name: value for name, value in arguments.items() if name not in plain}
    code = PromptCode(pipeline, plain, is_guided=True)
    values: dict[str, Any] = {"pipe": pipe}
    import torch

    with torch.no_grad():
        exec("\n".join(code.lines()).replace('"cuda"', '"cpu"'), values)
    return {**{name: eval(text, values) for name, text in code.call_arguments().items()}, **others}


def result_of_program(small: SmallPipeline, arguments: Mapping[str, Any]) -> Any:
    """What the lines of the program give on a pipeline that has no text encoders when it is called."""
    pipe = small.build()
    given = encoded_arguments(pipe, small.class_name, arguments)
    for slot in pipe.components:
        if slot.startswith("text_encoder"):
            setattr(pipe, slot, None)
    return pipe(**given)


@pytest.mark.parametrize("pipeline", split_cases(sorted(SMALL), ALWAYS))
@pytest.mark.parametrize("images", [1, 2])
def test_a_prompt_that_is_encoded_first_gives_the_same_result(pipeline: str, images: int) -> None:
    small = SMALL[pipeline]
    expected = small.build()(**call_arguments(small, images))
    found = result_of_program(small, call_arguments(small, images))
    numpy.testing.assert_allclose(first_result(found), first_result(expected), atol=1e-4)


@pytest.mark.parametrize("pipeline", split_cases(sorted(set(SMALL) - {*ENCODES_WITH_DENOISER, *GUARDED}), ALWAYS))
def test_a_pipeline_encodes_without_its_denoiser_and_denoises_without_its_encoders(
    pipeline: str, tmp_path: Path
) -> None:
    whole = SMALL[pipeline].build()
    whole.save_pretrained(tmp_path)
    arguments = call_arguments(SMALL[pipeline], 1)
    expected = type(whole).from_pretrained(tmp_path)(**call_arguments(SMALL[pipeline], 1))
    denoisers = [slot for slot in whole.components if slot.startswith(("transformer", "unet"))]
    encoders = [slot for slot in whole.components if slot.startswith("text_encoder")]
    early = type(whole).from_pretrained(tmp_path, **dict.fromkeys(denoisers))
    late = type(whole).from_pretrained(tmp_path, **dict.fromkeys(encoders))
    found = late(**encoded_arguments(early, pipeline, arguments))
    assert denoisers and encoders
    numpy.testing.assert_allclose(first_result(found), first_result(expected), atol=1e-4)


def test_every_known_pipeline_has_a_small_one() -> None:
    assert set(SMALL) == set(ENCODED)
    assert set(ENCODER_ARGUMENTS) <= set(ENCODED) and set(NEGATIVE_PROMPTS) <= set(ENCODED)


def lines_of(pipeline: str, **arguments: Any) -> tuple[list[str], dict[str, str]]:
    code = PromptCode(pipeline, arguments, is_guided=True)
    return list(code.lines()), code.call_arguments()


def test_a_negative_prompt_is_encoded_with_the_prompt() -> None:
    lines, call = lines_of("WanPipeline", negative_prompt="ugly", num_frames=5)
    assert lines == [
        'prompt_embeds, negative_prompt_embeds = pipe.encode_prompt(prompt="a cat", max_sequence_length=512, '
        'negative_prompt="ugly", device="cuda")'
    ]
    assert call == {
        "prompt_embeds": "prompt_embeds", "negative_prompt_embeds": "negative_prompt_embeds", "num_frames": "5",
    }  # fmt: skip


def test_a_negative_prompt_is_encoded_on_its_own_where_the_pipeline_does_so() -> None:
    lines, call = lines_of("FluxPipeline", prompt="a dog", negative_prompt="ugly", true_cfg_scale=3.0)
    assert [line.partition("(")[2] for line in lines] == [
        'prompt="a dog", device="cuda")',
        'prompt="ugly", device="cuda")',
    ]
    assert lines[1].startswith("negative_prompt_embeds, negative_pooled_prompt_embeds, _ = ")
    assert call["negative_pooled_prompt_embeds"] == "negative_pooled_prompt_embeds" and call["true_cfg_scale"] == "3.0"


def test_several_images_are_asked_for_where_the_prompt_is_encoded_and_not_again() -> None:
    lines, call = lines_of("StableDiffusion3Pipeline", num_images_per_prompt=4)
    assert "num_images_per_prompt=4" in lines[0] and "num_images_per_prompt" not in call


def test_an_unguided_call_encodes_no_negative_prompt() -> None:
    code = PromptCode("Flux2KleinPipeline", {}, is_guided=False)
    assert len(list(code.lines())) == 1
    assert len(lines_of("Flux2KleinPipeline")[0]) == 2
