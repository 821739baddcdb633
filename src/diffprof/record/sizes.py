"""Sizes of a result where the pipeline does not simply make what was requested."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ResizedOutput:
    """A size that was requested and that the pipeline does not make."""

    argument: str
    """height, width or num_frames."""
    requested: float
    made: int


@dataclass(frozen=True)
class ComputedSize:
    """The size that the pipeline computes at, where it resizes the result to another."""

    width: int
    height: int
    made_width: int
    made_height: int
