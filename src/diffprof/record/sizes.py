"""Sizes of results that differ from the requested ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ResizedOutput:
    """A requested size that the pipeline does not make."""

    argument: str
    """height, width or num_frames."""
    requested: float
    made: int


@dataclass(frozen=True)
class ComputedSize:
    """The size that the pipeline computes at, if it resizes the result."""

    width: int
    height: int
    made_width: int
    made_height: int
