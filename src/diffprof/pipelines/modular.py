"""Modular pipelines of diffusers: their blocks say which inputs the call has and which components it needs."""

from __future__ import annotations

import inspect
from typing import Any


def block_inputs(pipeline: Any) -> dict[str, inspect.Parameter]:
    """The inputs of a modular pipeline's blocks, as arguments of a call.

    Which of them are needed depends on the others: the blocks themselves say so when they are called.
    """
    return {
        part.name: inspect.Parameter(
            part.name, inspect.Parameter.KEYWORD_ONLY, default=part.default, annotation=part.type_hint
        )
        for part in pipeline.blocks.inputs
        if part.name
    }
