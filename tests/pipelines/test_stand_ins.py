"""Every call of every pipeline of diffusers can be made: what it needs and was not given has a stand-in."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import diffusers
import pytest
from PIL import Image

from diffprof.errors import RequestError
from diffprof.pipelines.arguments import call_parameters, json_value
from diffprof.pipelines.stand_ins import describe_input, is_optional_input, sized_input, stand_in
from diffprof.record.inputs import ImageSize, VideoSize


def bare(kind: type) -> Any:
    """A pipeline of the class with just what stand-ins look at."""
    pipeline = kind.__new__(kind)
    config = SimpleNamespace(encoder_hid_dim=8, cross_attention_dim=8, effnet_in_channels=16, latent_channels=4)
    for slot in ("unet", "decoder", "vae", "transformer", "prior"):
        pipeline.__dict__[slot] = SimpleNamespace(config=config)
    return pipeline


def pipelines() -> list[type]:
    found = [getattr(diffusers, name) for name in dir(diffusers) if name.endswith("Pipeline")]
    kinds = [kind for kind in found if inspect.isclass(kind) and issubclass(kind, diffusers.DiffusionPipeline)]
    return [kind for kind in kinds if kind is not diffusers.DiffusionPipeline and callable(bare(kind))]


def test_no_pipeline_needs_an_argument_that_nothing_stands_in_for() -> None:
    kinds = pipelines()
    assert len(kinds) > 200
    lacking = set()
    for kind in kinds:
        pipeline = bare(kind)
        for name, parameter in call_parameters(pipeline).items():
            if parameter.default is parameter.empty:
                try:
                    assert stand_in(pipeline, name, {}) is not None
                except RequestError:
                    lacking.add(f"{kind.__name__}.{name}")
    assert lacking == set()


def test_an_argument_that_nobody_knows_is_asked_for() -> None:
    with pytest.raises(RequestError, match="needs the call argument 'wishes'; give it with --set wishes=VALUE"):
        stand_in(bare(diffusers.FluxPipeline), "wishes", {})


def test_videos_are_as_long_as_the_generated_one() -> None:
    pipeline = bare(diffusers.WanAnimatePipeline)
    assert len(stand_in(pipeline, "pose_video", {})) == 77
    frames = stand_in(pipeline, "face_video", {"num_frames": 9, "height": 32, "width": 64})
    assert (len(frames), frames[0].size, frames[0].mode) == (9, (64, 32), "RGB")
    assert stand_in(pipeline, "mask_video", {})[0].mode == "L"


def test_an_image_is_square_where_only_one_side_is_known() -> None:
    assert stand_in(bare(diffusers.Cosmos2_5_TransferPipeline), "controls", {})[0].size == (704, 704)


def test_a_requested_size_is_made() -> None:
    assert sized_input("FluxPipeline", "image", ImageSize(40, 30)).size == (40, 30)
    assert sized_input("FluxPipeline", "mask_image", ImageSize(40, 30)).mode == "L"
    assert len(sized_input("FluxPipeline", "video", VideoSize(5, 40, 30))) == 5


def test_images_of_layers_have_a_fourth_channel() -> None:
    assert sized_input("QwenImageLayeredPipeline", "image", ImageSize(40, 30)).mode == "RGBA"
    assert stand_in(bare(diffusers.QwenImageLayeredPipeline), "image", {}).mode == "RGBA"


def test_images_are_described_as_they_can_be_read_again() -> None:
    image = Image.new("RGB", (40, 30))
    assert describe_input(image) == "image 40x30"
    assert json_value([image] * 5) == "5 images 40x30"
    assert json_value([image, Image.new("RGB", (8, 8))]) == ["image 40x30", "image 8x8"]
    assert describe_input("a cat") is None


HOSTILE_VALUES = {
    "a size of no pixel": {"unet": {"sample_size": -8}},
    "a size of a million pixels": {"unet": {"sample_size": 10**6}},
    "a factor that is no number": {"vae_scale_factor": "eight"},
    "a factor of nothing": {"vae_scale_factor": float("nan")},
}


@pytest.mark.parametrize("values", HOSTILE_VALUES.values(), ids=HOSTILE_VALUES.keys())
def test_values_of_a_configuration_that_make_no_image_are_told_as_the_models(values: dict[str, Any]) -> None:
    pipeline = diffusers.StableDiffusionImg2ImgPipeline.__new__(diffusers.StableDiffusionImg2ImgPipeline)
    pipeline.__dict__ |= {
        name: SimpleNamespace(config=SimpleNamespace(**value)) if isinstance(value, dict) else value
        for name, value in values.items()
    }
    with pytest.raises(RequestError, match=r"the size that StableDiffusionImg2ImgPipeline|check the model"):
        stand_in(pipeline, "image", {})


@pytest.mark.parametrize("name", ["image_latents", "image_embeds", "image_embeddings", "latents"])
def test_a_pipeline_without_what_a_stand_in_is_made_of_is_named(name: str) -> None:
    pipeline = diffusers.LTXPipeline.__new__(diffusers.LTXPipeline)
    with pytest.raises(RequestError, match=f"there is no stand-in for the call argument '{name}' of LTXPipeline"):
        stand_in(pipeline, name, {})


def test_more_channels_than_memory_has_are_refused_before_they_are_made() -> None:
    pipeline = bare(diffusers.LTXPipeline)
    pipeline.__dict__["vae"].config = SimpleNamespace(latent_channels=2**40)
    with pytest.raises(RequestError, match="844,424,930,131,968 numbers"):
        stand_in(pipeline, "latents", {})


def test_the_embeddings_of_an_image_are_as_wide_as_the_model_takes_them() -> None:
    alone = {"encoder_hid_dim": 1280, "encoder_hid_dim_type": "image_proj", "cross_attention_dim": 768}
    beside_texts = {"encoder_hid_dim": 1024, "encoder_hid_dim_type": "text_image_proj", "cross_attention_dim": 768}
    for config, width in ((alone, 1280), (beside_texts, 768)):
        pipeline = SimpleNamespace(unet=SimpleNamespace(config=SimpleNamespace(**config)))
        assert stand_in(pipeline, "image_embeds", {}).shape == (1, width)


@pytest.mark.parametrize(("scheduler", "latents"), [(diffusers.DDIMScheduler, 4), (diffusers.PNDMScheduler, 5)])
def test_latents_of_an_inversion_are_as_many_as_the_scheduler_has_steps(scheduler: Any, latents: int) -> None:
    pipeline = diffusers.StableDiffusionDiffEditPipeline.__new__(diffusers.StableDiffusionDiffEditPipeline)
    options = {"skip_prk_steps": True} if scheduler is diffusers.PNDMScheduler else {}
    pipeline.__dict__ |= {
        "scheduler": scheduler(**options),
        "vae": SimpleNamespace(config=SimpleNamespace(latent_channels=4)),
        "vae_scale_factor": 8,
    }
    given = {"num_inference_steps": 5, "height": 64, "width": 64}
    assert stand_in(pipeline, "image_latents", given).shape == (1, latents, 4, 8, 8)


def test_texts_that_are_only_taken_as_embeddings_and_the_length_of_a_film_have_stand_ins() -> None:
    pipeline = SimpleNamespace(
        tokenizer=SimpleNamespace(model_max_length=77),
        text_encoder=SimpleNamespace(config=SimpleNamespace(hidden_size=32)),
    )
    assert stand_in(pipeline, "source_embeds", {}).shape == (1, 77, 32)
    assert stand_in(pipeline, "num_frames", {}) == 121
    assert is_optional_input("target_embeds") and is_optional_input("num_frames")
    assert not is_optional_input("prompt_embeds")


def test_a_film_has_a_mask_for_each_of_its_frames() -> None:
    masks = stand_in(bare(diffusers.WanVACEPipeline), "mask", {"num_frames": 5, "height": 16, "width": 32})
    assert [(mask.mode, mask.size) for mask in masks] == [("L", (32, 16))] * 5
    assert (
        stand_in(bare(diffusers.StableDiffusionInpaintPipeline), "mask_image", {"height": 16, "width": 32}).mode == "L"
    )
