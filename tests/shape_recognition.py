"""Recognize the colours and the shape in a picture of one shape.

Knows nothing of how the pictures were drawn or of the model that was trained on them: colours are ranges of hue, and
a shape is told by how much of its convex hull it fills, and how much of the box around it the hull fills.
"""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

import numpy as np

Mask = np.ndarray

HUES = {
    "red": (340, 374),
    "orange": (14, 41),
    "yellow": (41, 70),
    "green": (75, 170),
    "blue": (190, 250),
    "purple": (255, 325),
}
"""Degrees on the circle of hues, from and to."""
CLEARLY_OTHER = 40
"""Of 255: how far a channel must be from the background's for a pixel to belong to something else."""


@dataclass(frozen=True)
class Seen:
    """One shape on a background; None for what is neither this nor that."""

    background: str | None
    colour: str | None
    shape: str | None
    x: float
    """Of the middle of the shape, as a share of the width."""
    y: float
    area: float
    """As a share of the picture."""


def look(picture: np.ndarray) -> Seen | None:
    """The one shape in a picture of height x width x 3 bytes; None where there is none, or more than one."""
    edge = np.concatenate([picture[0], picture[-1], picture[:, 0], picture[:, -1]])
    background = np.median(edge, axis=0)
    other = np.abs(picture - background).max(axis=-1) > CLEARLY_OTHER
    if not 0.01 < other.mean() < 0.6:
        return None
    piece = _largest_piece(other)
    if piece.sum() < 0.9 * other.sum():
        return None
    rows, columns = np.nonzero(piece)
    height, width = piece.shape
    return Seen(
        background=colour_name(background),
        colour=colour_name(np.median(picture[_without_edge(piece)], axis=0)),
        shape=shape_name(piece),
        x=(columns.mean() + 0.5) / width,
        y=(rows.mean() + 0.5) / height,
        area=float(piece.mean()),
    )


def colour_name(rgb: np.ndarray) -> str | None:
    hue, saturation, value = colorsys.rgb_to_hsv(*(rgb / 255))
    if value < 0.25:
        return "black"
    if saturation < 0.15:
        return "white" if value > 0.85 else None
    degrees = hue * 360
    return next((name for name, (low, high) in HUES.items() if low <= degrees < high or degrees + 360 < high), None)


def shape_name(piece: Mask) -> str | None:
    """By two ratios that do not change with size and place."""
    rows, columns = np.nonzero(piece)
    height, width = np.ptp(rows) + 1, np.ptp(columns) + 1
    if not 0.75 < width / height < 1.33:
        return None
    hull = _hull_area(rows, columns)
    filled, boxed = piece.sum() / hull, hull / (height * width)
    if filled < 0.8:
        return "star" if filled > 0.4 and boxed > 0.55 else None
    if boxed > 0.9:
        return "square"
    if boxed > 0.72:
        return "circle"
    return "triangle" if 0.45 < boxed < 0.68 else None


def _hull_area(rows: np.ndarray, columns: np.ndarray) -> float:
    """The area of the convex hull of the pixels' corners (Andrew's monotone chain, then the shoelace formula)."""
    pixels = zip(columns.tolist(), rows.tolist(), strict=True)
    points = sorted({(x + right, y + below) for x, y in pixels for right in (0, 1) for below in (0, 1)})
    hull = [*_half_hull(points), *_half_hull(points[::-1])]
    following = hull[1:] + hull[:1]
    return abs(sum(x * b - a * y for (x, y), (a, b) in zip(hull, following, strict=True))) / 2


def _half_hull(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    half: list[tuple[int, int]] = []
    for point in points:
        while len(half) > 1 and _turn(half[-2], half[-1], point) <= 0:
            half.pop()
        half.append(point)
    return half[:-1]


def _turn(first: tuple[int, int], second: tuple[int, int], third: tuple[int, int]) -> int:
    return (second[0] - first[0]) * (third[1] - first[1]) - (second[1] - first[1]) * (third[0] - first[0])


def _largest_piece(mask: Mask) -> Mask:
    """The connected piece with the most pixels."""
    left, largest = mask.copy(), np.zeros_like(mask)
    while left.sum() > largest.sum():
        piece = np.zeros_like(mask)
        piece[tuple(np.argwhere(left)[0])] = True
        size = 0
        while piece.sum() > size:
            size = piece.sum()
            piece = _grown(piece) & left
        left &= ~piece
        largest = piece if piece.sum() > largest.sum() else largest
    return largest


def _grown(mask: Mask) -> Mask:
    grown = mask.copy()
    grown[1:] |= mask[:-1]
    grown[:-1] |= mask[1:]
    grown[:, 1:] |= mask[:, :-1]
    grown[:, :-1] |= mask[:, 1:]
    return grown


def _without_edge(mask: Mask) -> Mask:
    """The pixels well inside, whose colour is not mixed with the background's."""
    inside = ~_grown(~mask)
    return inside if inside.any() else mask
