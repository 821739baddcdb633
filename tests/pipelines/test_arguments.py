"""Call arguments: the pipeline's own names and defaults, and stand-ins for what a call needs and was not given."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy
import pytest
import torch
from PIL import Image

import diffprof
from diffprof.errors import PipelineError, RequestError
from diffprof.pipelines.arguments import call_arguments, json_value, own_argument_name
from diffprof.render.shapes import inputs_text
from tests.extensive import split_cases
from tests.small_pipelines import SMALL_PIPELINES


def shapes(done: diffprof.Profile, component: str) -> list[str]:
    return [inputs_text(call.inputs) for call in done.calls if call.component == component]


def small(name: str, **changes: Any) -> tuple[Any, dict[str, Any]]:
    """A small pipeline and its arguments; one that is changed to None is left out."""
    found = SMALL_PIPELINES[name]
    arguments = found.arguments() | changes
    return found.build(), {name: value for name, value in arguments.items() if value is not None}


def test_a_prompt_stands_in_and_is_written_down() -> None:
    pipeline, arguments = small("stable-diffusion", prompt=None)
    done = diffprof.profile(pipeline, **arguments)
    assert done.request.value("prompt") == "a photo of a cat"
    assert done.ledger.assumptions == ("prompt was not given: 'a photo of a cat' stands in",)


def test_no_prompt_stands_in_for_embeddings_that_were_given() -> None:
    pipeline, arguments = small("stable-diffusion", prompt=None, guidance_scale=1.0)
    done = diffprof.profile(pipeline, prompt_embeds=torch.zeros(1, 77, 32), **arguments)
    assert done.components["text_encoder"].calls == 0
    assert done.ledger.assumptions == ()
    assert done.request.arguments["prompt_embeds"] == "tensor 1x77x32 float32"


@pytest.mark.parametrize(
    ("name", "needed", "component", "input_"),
    [
        ("stable-diffusion-img2img", ("image",), "vae", "x 1x3x32x32"),
        ("stable-diffusion-inpaint", ("image", "mask_image"), "vae", "x 1x3x32x32"),
        ("stable-diffusion-controlnet", ("image",), "controlnet", "controlnet_cond 2x3x32x32"),
        ("stable-diffusion-two-controlnets", ("image",), "controlnet", "controlnet_cond 2x3x32x32 + 2x3x32x32"),
        ("stable-diffusion-ip-adapter", ("ip_adapter_image",), "image_encoder", "pixel_values 1x3x"),
    ],
)
def test_placeholder_images_are_passed_where_the_call_needs_them(
    name: str, needed: tuple[str, ...], component: str, input_: str
) -> None:
    pipeline, arguments = small(name, **dict.fromkeys(needed))
    size = {} if "ip-adapter" in name else {"height": 32, "width": 32}
    if name == "stable-diffusion-img2img":
        size = {}  # it takes the size of the picture
    done = diffprof.profile(pipeline, **arguments | size)
    assert any(input_ in text for text in shapes(done, component)), shapes(done, component)
    for argument in needed:
        assert any(f"{argument} was not given" in sentence for sentence in done.ledger.assumptions)
        assert "image" in str(done.request.value(argument))


PICTURE_PIPELINES = [
    "stable-diffusion-upscale",
    "stable-diffusion-latent-upscale",
    "stable-diffusion-instruct-pix2pix",
    "stable-diffusion-depth2img",
    "stable-diffusion-xl-img2img",
    "stable-diffusion-xl-inpaint",
    "stable-diffusion-xl-controlnet",
    "stable-diffusion-3-controlnet",
    "flux-img2img",
    "flux-inpaint",
    "flux-controlnet",
    "kandinsky-2.2-img2img",
    "wan-2.1-image-to-video",
    "stable-video-diffusion",
    "cogvideox-image-to-video",
    "ltx-image-to-video",
]


@pytest.mark.parametrize(
    "name",
    split_cases(
        [name for name in PICTURE_PIPELINES if name in SMALL_PIPELINES],
        always=("flux-img2img", "flux-inpaint", "flux-controlnet", "stable-diffusion-upscale", "ltx-image-to-video"),
    ),
)
def test_an_image_to_image_pipeline_runs_without_an_image(name: str) -> None:
    pipeline, arguments = small(name)
    for argument, value in list(arguments.items()):
        pictures = value if isinstance(value, (list, tuple)) else (value,)
        if any(isinstance(picture, Image.Image) for picture in pictures):
            del arguments[argument]
    done = diffprof.profile(pipeline, **arguments)
    assert any(part.role == "denoiser" and part.macs > 0 for part in done.components.values())


def test_an_optional_image_is_not_passed() -> None:
    pipeline, arguments = small("flux2-klein")
    done = diffprof.profile(pipeline, **arguments)
    assert done.request.value("image") is None


def test_a_call_that_fails_with_a_stand_in_too_ends_with_the_first_message() -> None:
    pipeline, arguments = small("flux2-klein")
    with pytest.raises(PipelineError, match="refused the call"):
        diffprof.profile(pipeline, **arguments | {"prompt": 5})


@pytest.mark.parametrize(
    ("name", "given", "named"),
    [
        ("cogvideox", {"num_images_per_prompt": 2}, "num_videos_per_prompt"),
        ("dit", {"num_images_per_prompt": 1}, None),
    ],
)
def test_an_argument_goes_by_the_pipelines_own_name(name: str, given: dict[str, Any], named: str | None) -> None:
    pipeline = SMALL_PIPELINES[name].build()
    if named is None:
        with pytest.raises(RequestError, match="has no call argument"):
            call_arguments(pipeline, given, {})
    else:
        assert call_arguments(pipeline, given, {}).given == {named: next(iter(given.values()))}


def test_an_unknown_argument_is_rejected_with_those_that_are_near() -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    with pytest.raises(RequestError, match="has no call argument 'hight'; did you mean height"):
        call_arguments(pipeline, {"hight": 5}, {})


def test_the_request_holds_plain_values_only(tmp_path: Any) -> None:
    pipeline, arguments = small("stable-diffusion-inpaint", callback_on_step_end=lambda *_: {})
    done = diffprof.profile(pipeline, **arguments)
    assert done.request.arguments["generator"] == "generator with seed 0"
    assert done.request.arguments["image"] == "image 32x32"
    assert diffprof.load(done.save(tmp_path / "p.json")) == done


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, 5),
        ("cat", "cat"),
        (None, None),
        ([1, (2.5, True)], [1, [2.5, True]]),
        ({"a": torch.zeros(2, 3)}, {"a": "tensor 2x3 float32"}),
        (torch.tensor(5), "tensor scalar int64"),
        (numpy.zeros((4, 5)), "array 4x5"),
        (Image.new("L", (7, 9)), "image 7x9"),
        (torch.Generator().manual_seed(7), "generator with seed 7"),
        (len, "len"),
        (float("nan"), "nan"),
        (object(), "object"),
    ],
)
def test_an_argument_becomes_a_plain_value(value: Any, text: Any) -> None:
    assert json_value(value) == text


def test_batch_and_images_per_prompt_multiply() -> None:
    pipeline, arguments = small("stable-diffusion", prompt=["a cat", "a dog"], num_images_per_prompt=3)
    done = diffprof.profile(pipeline, **arguments)
    assert "sample 12x4x16x16" in shapes(done, "unet")[0]
    single = diffprof.profile(pipeline, **small("stable-diffusion")[1])
    assert done.steps.macs == 6 * single.steps.macs


def test_the_size_that_the_pipeline_makes_is_what_the_request_shows() -> None:
    pipeline, arguments = small("stable-diffusion", height=24, width=40)
    done = diffprof.profile(pipeline, **arguments)
    assert (done.request.value("height"), done.request.value("width")) == (24, 40)
    usual = diffprof.profile(pipeline, prompt="a cat", num_inference_steps=1)
    assert (usual.request.value("height"), usual.request.value("width")) == (32, 32)


def test_a_pipeline_that_cannot_be_called_is_rejected() -> None:
    class Silent:
        pass

    with pytest.raises(RequestError, match="Silent cannot be called"):
        call_arguments(Silent(), {}, {})


@pytest.mark.parametrize("size", ["24x40", (Image.new("RGB", (24, 40)))], ids=["by its size", "itself"])
def test_an_image_may_be_given_by_its_size(size: Any) -> None:
    pipeline, arguments = small("stable-diffusion-img2img", image=size)
    done = diffprof.profile(pipeline, **arguments)
    assert any("x 1x3x40x24" in text for text in shapes(done, "vae"))
    assert done.request.arguments["image"] == "image 24x40"
    again = diffprof.profile(pipeline, **done.request.as_request("again").arguments)
    assert again.total == done.total


def test_a_size_that_is_none_is_refused() -> None:
    pipeline, arguments = small("stable-diffusion-img2img", image="cat.png")
    with pytest.raises(RequestError, match="image takes WIDTHxHEIGHT or FRAMESxWIDTHxHEIGHT in pixels, not 'cat"):
        diffprof.profile(pipeline, **arguments)


@pytest.mark.parametrize(("pixels", "expected"), [(32, "pil"), (2048, "pt")])
def test_large_images_stay_tensors_whether_their_size_was_given_or_is_the_usual_one(pixels: int, expected: str) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    pipeline.unet.register_to_config(sample_size=pixels // pipeline.vae_scale_factor)
    for size in ({}, {"height": pixels, "width": pixels}):
        call = call_arguments(pipeline, {**size, "num_images_per_prompt": 4}, {})
        assert {**call.defaults, **call.stand_ins}["output_type"] == expected


class TextToVideoZero:
    config: ClassVar[dict[str, Any]] = {}

    def __call__(self, prompt: str, num_inference_steps: int = 50, t0: int = 44, t1: int = 47) -> None: ...


@pytest.mark.parametrize(("steps", "expected"), [(50, {}), (10, {"t0": 6, "t1": 9}), (2, {"t0": 0, "t1": 1})])
def test_frames_move_between_steps_that_are_executed(steps: int, expected: dict[str, int]) -> None:
    call = call_arguments(TextToVideoZero(), {"num_inference_steps": steps}, {})
    assert {name: value for name, value in call.stand_ins.items() if name != "prompt"} == expected


def test_a_short_name_that_is_misspelt_leads_to_the_pipelines_own() -> None:
    parameters = dict.fromkeys(["prompt", "height", "num_inference_steps", "timesteps", "guidance_scale"])
    for typed, own in (("step", "num_inference_steps"), ("guidence", "guidance_scale"), ("num_steps", "num_inference")):
        with pytest.raises(RequestError, match=f"did you mean {own}"):
            own_argument_name("SomePipeline", parameters, typed)


def test_a_layer_that_transformers_keeps_no_more_is_not_asked_for() -> None:
    """I2VGen-XL would normalise the layer before the last with a part of the text encoder that has another name now."""
    small = SMALL_PIPELINES["i2vgen-xl"].build()
    call = call_arguments(small, {}, {})
    assert call.stand_ins["clip_skip"] is None


def test_values_for_each_step_are_as_many_as_steps_are_requested() -> None:
    class Scheduled:
        def __call__(
            self,
            num_inference_steps: int = 4,
            guidance_scale: float | None = None,
            guidance_schedule: Any = (7.0, 7.0, 7.0, 3.0),
        ) -> None:
            """Guided as in Ideogram 4."""  # fmt: skip

    assert call_arguments(Scheduled(), {}, {}).stand_ins == {}
    assert call_arguments(Scheduled(), {"num_inference_steps": 4}, {}).stand_ins == {}
    shorter = call_arguments(Scheduled(), {"num_inference_steps": 2}, {}).stand_ins
    assert shorter == {"guidance_schedule": [7.0, 7.0]}
    longer = call_arguments(Scheduled(), {"num_inference_steps": 8}, {}).stand_ins
    assert longer == {"guidance_schedule": [7.0] * 6 + [3.0] * 2}
    assert call_arguments(Scheduled(), {"guidance_scale": 5.0}, {}).stand_ins == {"guidance_schedule": None}
