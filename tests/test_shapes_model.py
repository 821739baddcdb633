"""The model on board draws what the prompt says, and is a plain diffusers pipeline."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from diffusers import DiffusionPipeline, StableDiffusionPipeline
from training.shapes import drawing
from training.shapes.train import Log, train

from diffprof.catalogue.bundled_model import shapes_folder
from tests.shape_recognition import Seen, look

COLOURS = ("red", "green", "blue", "yellow", "purple", "orange", "white", "black")
SHAPES = ("circle", "square", "triangle", "star")
FOLDER = shapes_folder()
PAGE = Path(__file__).parents[1] / "docs" / "shapes-model.md"

Wanted = tuple[str, str, str]
"""Colour, shape and background."""


def article(word: str) -> str:
    return f"an {word}" if word == "orange" else f"a {word}"


def sentence(wanted: Wanted) -> str:
    colour, shape, background = wanted
    return f"{article(colour)} {shape} on {article(background)} background"


def forty_eight() -> list[Wanted]:
    """Every colour six times as a shape and six times as a background, every shape twelve times, no pair twice."""
    return [
        (COLOURS[number % 8], SHAPES[(number + number // 8) % 4], COLOURS[(number + number // 8 + 1) % 8])
        for number in range(48)
    ]


@pytest.fixture(scope="module")
def pipeline() -> Any:
    pipeline = DiffusionPipeline.from_pretrained(FOLDER, local_files_only=True)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


Draw = Callable[[Sequence[str]], np.ndarray]


@pytest.fixture(scope="module")
def draw(pipeline: Any) -> Draw:
    def drawn(prompts: Sequence[str], seed: int = 0) -> np.ndarray:
        generators = [torch.Generator().manual_seed(seed + number) for number in range(len(prompts))]
        found = pipeline(list(prompts), num_inference_steps=16, generator=generators, output_type="np").images
        return (found * 255).round().astype(np.uint8)

    return drawn


@pytest.fixture(scope="module")
def seen(draw: Draw) -> list[Seen | None]:
    return [look(picture) for picture in draw([sentence(wanted) for wanted in forty_eight()])]


def share_right(seen: Sequence[Seen | None], wanted: Sequence[Wanted], what: str) -> float:
    place = ("colour", "shape", "background").index(what)
    right = [one is not None and getattr(one, what) == words[place] for one, words in zip(seen, wanted, strict=True)]
    return sum(right) / len(right)


def test_the_prompts_cover_colours_shapes_and_backgrounds_evenly() -> None:
    prompts = forty_eight()
    assert len({(colour, background) for colour, _, background in prompts}) == 48
    assert all(colour != background for colour, _, background in prompts)
    for place, words in ((0, COLOURS), (1, SHAPES), (2, COLOURS)):
        assert {word: sum(wanted[place] == word for wanted in prompts) for word in words} == dict.fromkeys(
            words, 48 // len(words)
        )


def test_it_draws_the_colours_and_the_shape_of_the_prompt(seen: list[Seen | None]) -> None:
    """As often as docs/shapes-model.md says."""
    written = dict(re.findall(r"^\| (.+) \| (\d+) \|$", PAGE.read_text(encoding="utf-8"), re.M))
    for what, row in {
        "colour": "colour of the shape",
        "background": "colour of the background",
        "shape": "shape",
    }.items():
        assert round(48 * share_right(seen, forty_eight(), what)) == int(written[row])


def test_images_of_other_prompts_do_not_pass(seen: list[Seen | None]) -> None:
    others = forty_eight()[1:] + forty_eight()[:1]
    assert share_right(seen, others, "colour") < 0.2
    assert share_right(seen, others, "background") < 0.2
    assert share_right(seen, others, "shape") < 0.4


def test_words_for_place_and_size_move_and_scale_the_shape(draw: Draw) -> None:
    words = ("on the left", "on the right", "at the top", "at the bottom")
    pictures = draw([f"a red circle {word} on a white background" for word in words]
                    + [f"a {size} blue square on a yellow background" for size in ("small", "large")])  # fmt: skip
    left, right, top, bottom, small, large = map(look, pictures)
    assert left and right and top and bottom and small and large
    assert left.x < 0.4 < 0.6 < right.x
    assert top.y < 0.4 < 0.6 < bottom.y
    assert small.area < 0.5 * large.area


def test_of_two_shapes_each_is_on_its_side(draw: Draw) -> None:
    prompts = ["a red circle to the left of a blue square on a white background",
               "a blue square to the right of a red circle on a white background"]  # fmt: skip
    for picture in draw(prompts):
        left, right = look(picture[:, :32]), look(picture[:, 32:])
        assert left and right
        assert (left.colour, right.colour) == ("red", "blue")
        assert (left.shape, right.shape) == ("circle", "square")


def test_the_same_seed_draws_the_same_image_and_another_seed_another(pipeline: Any) -> None:
    def drawn(seed: int) -> np.ndarray:
        generator = torch.Generator().manual_seed(seed)
        return pipeline("a green star", num_inference_steps=4, generator=generator, output_type="np").images

    assert np.array_equal(drawn(1), drawn(1))
    assert not np.array_equal(drawn(1), drawn(2))


def test_it_is_a_plain_stable_diffusion_pipeline_of_64_pixels(pipeline: Any) -> None:
    assert type(pipeline) is StableDiffusionPipeline
    assert pipeline.safety_checker is None
    assert not pipeline.config.requires_safety_checker
    assert pipeline.unet.config.sample_size * pipeline.vae_scale_factor == 64
    assert pipeline.text_encoder.config.vocab_size == len(pipeline.tokenizer)
    assert {part.dtype for part in (pipeline.unet, pipeline.vae, pipeline.text_encoder)} == {torch.float32}


def test_its_files_are_small_and_hold_no_code() -> None:
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 12_000_000
    assert {path.suffix for path in files} == {".json", ".safetensors", ""}  # the licence has no ending
    for path in files:
        if path.suffix == ".json":
            assert isinstance(json.loads(path.read_text(encoding="utf-8")), dict)


def test_each_word_of_the_captions_is_one_token_and_no_text_is_rejected(pipeline: Any) -> None:
    for word in drawing.words():
        assert len(pipeline.tokenizer(word).input_ids) == 3, word
    for text in ("", "Ein grünes Dreieck 🟢", "x" * 500):
        assert len(pipeline.tokenizer(text, truncation=True, padding="max_length").input_ids) == 32


def test_training_images_are_recognized_as_their_captions_say() -> None:
    chance = Random(7)
    scenes = [scene for scene in (drawing.random_scene(chance) for _ in range(300)) if len(scene.things) == 1]
    assert len(scenes) > 150
    for scene in scenes:
        thing, seen = scene.things[0], look(drawing.draw(scene))
        assert seen is not None, scene
        assert (seen.background, seen.colour, seen.shape) == (scene.background, thing.colour, thing.shape), scene
        assert abs(seen.x - thing.x / 64) < 0.05
        # The middle of a triangle's area lies below the middle of its height.
        assert abs(seen.y - thing.y / 64) < 0.1


def test_a_caption_says_only_what_is_true_of_the_scene() -> None:
    chance = Random(3)
    for _ in range(200):
        scene = drawing.random_scene(chance)
        said = drawing.caption(scene, chance).split()
        assert set(said) <= set(drawing.words())
        true = {scene.background, *(word for thing in scene.things for word in (thing.colour, thing.shape, thing.size))}
        assert set(said) & {*COLOURS, *SHAPES, "small", "large"} <= true
        assert all(thing.colour in said and thing.shape in said for thing in scene.things)


@pytest.mark.parametrize("nothing", [
    np.full((64, 64, 3), 200, np.uint8),
    np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8),
], ids=["one colour", "noise"])  # fmt: skip
def test_nothing_is_seen_where_nothing_is_drawn(nothing: np.ndarray) -> None:
    assert look(nothing) is None


@pytest.mark.extensive
def test_the_same_seed_trains_the_same_weights(tmp_path: Path) -> None:
    def weights(seed: int, name: str) -> dict[str, bytes]:
        train(tmp_path / name, seed, scene_count=40, vae_steps=1, unet_steps=1, log=Log(quiet=True))
        return {path.parent.name: path.read_bytes() for path in (tmp_path / name).rglob("*.safetensors")}

    threads = torch.get_num_threads()
    try:
        first = weights(0, "first")
        assert set(first) == {"vae", "unet", "text_encoder"}
        assert weights(0, "again") == first
        assert not set(weights(1, "other").values()) & set(first.values())
    finally:
        torch.set_num_threads(threads)
