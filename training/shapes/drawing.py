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
RADII = {"small": (8.5, 10.5), "": (12.0, 15.0), "large": (17.5, 20.5)}
"""From a shape's centre to its edge, in pixels, by the word for it; the size in between has none."""
PLACES = {
    "in the middle": (0, 0),
    "on the left": (-1, 0),
    "on the right": (1, 0),
    "at the top": (0, -1),
    "at the bottom": (0, 1),
}
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
    """One shape in two thirds of all scenes, otherwise two; a shape is never of the background's colour."""
    background, first, second = chance.sample(list(COLOURS), 3)
    if chance.random() < 2 / 3:
        place = chance.choice(list(PLACES))
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
    radius = chance.uniform(*RADII[size])
    x, y = (_centre(chance, radius, direction) for direction in towards)
    return Thing(chance.choice(SHAPES), colour, size, place, x, y, radius)


def _centre(chance: Random, radius: float, direction: int) -> float:
    """A coordinate near the middle, or so far to one side that the shape just stays in the picture."""
    if direction == 0:
        return SIDE / 2 + chance.uniform(-3, 3)
    from_edge = chance.uniform(radius + 1, max(radius + 2, 18))
    return from_edge if direction < 0 else SIDE - from_edge


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
    """A true sentence about the scene; size, place and background are not always named."""
    said = [_noun(" ".join((thing.size if chance.random() < 0.5 else "", thing.colour, thing.shape)))
            for thing in scene.things]  # fmt: skip
    if len(said) == 2:
        words = scene.relation if chance.random() < 0.7 else "and"
        text = f"{said[0]} {words} {said[1]}"
    else:
        place = scene.things[0].place
        text = f"{said[0]} {place}" if chance.random() < 0.5 else said[0]
    return text if chance.random() < 0.1 else f"{text} on {_noun(f'{scene.background} background')}"


def _noun(words: str) -> str:
    words = words.strip()
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"


def words() -> list[str]:
    """Every word that a caption can have."""
    phrases = ["a an and on background", *COLOURS, *SHAPES, *RADII, *PLACES, *RELATIONS]
    return sorted({word for phrase in phrases for word in phrase.split()})
