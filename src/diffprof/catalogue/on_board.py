"""The small model that comes with diffprof, weights and all (docs/shapes-model.md)."""

from __future__ import annotations

from pathlib import Path

SHAPES = "shapes"
"""Its name wherever a model is asked for."""


def shapes_folder() -> Path:
    """Its folder in diffusers layout."""
    return Path(__file__).parents[1] / "shapes_model"


def is_on_board(model: str | Path) -> bool:
    """Whether the name, in any case, means the model on board; a path never does, not even ``Path("shapes")``."""
    return isinstance(model, str) and model.lower() == SHAPES
