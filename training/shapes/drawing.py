"""The pictures that the model learns from, drawn by chance, and what is said about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

import numpy as np
from PIL import Image, ImageDraw

SIDE = 64
"""Pixels of a picture's side."""
FINER = 4
"""A picture is drawn this much larger and then reduced, which makes its edges smooth."""
COLOURS = {
    "red": (220, 38, 38),
    "green": (34, 160, 70),
    "blue": (37, 84, 225),
    "yellow": (248, 214, 42),
    "purple": (140, 48, 190),
    "orange": (246, 136, 22),
    "white": (250, 250, 250),
    "black": (16, 16, 16),
}
SHAPES = ("circle", "square", "triangle", "star")
RADII = {"small": 9.5, "": 14.0, "large": 20.0}
"""From a shape's centre to its edge, in pixels, by the word for it; the size in between has none."""
PLACES = {
    "in the middle": (0, 0),
    "on the left": (-1, 0),
    "on the right": (1, 0),
    "at the top": (0, -1),
    "at the bottom": (0, 1),
}
USUAL_PLACE = "in the middle"
RELATIONS = {"to the left of": (-1, 0), "to the right of": (1, 0), "above": (0, -1), "below": (0, 1)}
"""Where the first of two shapes is, seen from the second."""


@dataclass(frozen=True)
class Thing:
    """One shape: how it looks, where its centre is, and the words that are true of it."""

    shape: str
    colour: str
    size: str
    place: str
    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class Scene:
    """A background with one shape on it, or two and how the first lies to the second."""

    background: str
    things: tuple[Thing, ...]
    relation: str = ""


def random_scene(chance: Random) -> Scene:
    """One shape in three of four scenes, half of them in the middle, or two; none is of the background's colour."""
    background, first, second = chance.sample(list(COLOURS), 3)
    if chance.random() < 0.75:
        place = chance.choice(list(PLACES) + 3 * [USUAL_PLACE])
        return Scene(background, (_thing(chance, first, chance.choice(list(RADII)), place, PLACES[place]),))
    relation = chance.choice(list(RELATIONS))
    across, down = RELATIONS[relation]
    # Two large shapes would overlap.
    sizes = chance.choice([("small", "small"), ("small", ""), ("", "small"), ("", "")])
    things = (
        _thing(chance, first, sizes[0], "", (across, down)),
        _thing(chance, second, sizes[1], "", (-across, -down)),
    )
    return Scene(background, things, relation)


def _thing(chance: Random, colour: str, size: str, place: str, towards: tuple[int, int]) -> Thing:
    radius = RADII[size] + chance.uniform(-0.5, 0.5)
    x, y = (_centre(chance, radius, direction) for direction in towards)
    return Thing(chance.choice(SHAPES), colour, size, place, x, y, radius)


def _centre(chance: Random, radius: float, direction: int) -> float:
    """A coordinate in the middle or so far to one side that the shape just stays in the picture, or about so."""
    from_middle = SIDE / 2 - radius - 2.5
    return SIDE / 2 + direction * from_middle + chance.uniform(-1, 1)


def draw(scene: Scene) -> np.ndarray:
    """The picture of a scene: height x width x 3 bytes."""
    image = Image.new("RGB", (SIDE * FINER, SIDE * FINER), COLOURS[scene.background])
    pencil = ImageDraw.Draw(image)
    for thing in scene.things:
        colour = COLOURS[thing.colour]
        x, y, radius = thing.x * FINER, thing.y * FINER, thing.radius * FINER
        if thing.shape == "circle":
            pencil.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
        else:
            pencil.polygon([(x + radius * across, y + radius * down) for across, down in _corners(thing.shape)], colour)
    return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BOX))


def _corners(shape: str) -> list[tuple[float, float]]:
    """The corners of a shape around the origin; all shapes are about as wide as a circle of radius 1."""
    if shape == "square":
        return [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]
    if shape == "triangle":
        return [(0, -0.95), (1, 0.85), (-1, 0.85)]
    turns = [math.pi * (number / 5 - 0.5) for number in range(10)]
    reach = [1.05 if number % 2 == 0 else 0.45 for number in range(10)]
    return [(far * math.cos(turn), far * math.sin(turn)) for turn, far in zip(turns, reach, strict=True)]


def caption(scene: Scene, chance: Random) -> str:
    """A true sentence about the scene. Only the background is not always named: what has no word is of the usual size
    and in the middle, so that few words say all there is to draw."""
    said = [_noun(f"{thing.size} {thing.colour} {thing.shape}") for thing in scene.things]
    if len(said) == 2:
        words = scene.relation if chance.random() < 0.85 else "and"
        text = f"{said[0]} {words} {said[1]}"
    else:
        place = scene.things[0].place
        unsaid = place == USUAL_PLACE and chance.random() < 0.7
        text = said[0] if unsaid else f"{said[0]} {place}"
    return text if chance.random() < 0.1 else f"{text} on {_noun(f'{scene.background} background')}"


def _noun(words: str) -> str:
    words = words.strip()
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"


def words() -> list[str]:
    """Every word that a caption can have."""
    phrases = ["a an and on background", *COLOURS, *SHAPES, *RADII, *PLACES, *RELATIONS]
    return sorted({word for phrase in phrases for word in phrase.split()})
