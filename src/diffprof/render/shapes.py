"""Shapes as text: ``2x4096x320, 320x320 -> 2x4096x320``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diffprof.record.tensors import OperationShapes, Shape, TensorInput

MAX_TENSORS = 4
"""How many tensors of one argument are shown."""


def inputs_text(inputs: Iterable[TensorInput]) -> str:
    """The inputs of a call: ``sample 2x4x64x64, timestep scalar``; several tensors in one argument as a sum."""
    return ", ".join(f"{argument.name} {_tensors(argument.shapes)}" for argument in inputs)


def shapes_text(shapes: OperationShapes) -> str:
    """The input and output shapes of an operation; empty for views, whose shapes are not recorded."""
    if shapes == OperationShapes():
        return ""
    return f"{', '.join(map(shape_text, shapes.inputs))} -> {', '.join(map(shape_text, shapes.outputs))}"


def shape_text(shape: Shape) -> str:
    """``2x4x64x64``, or ``scalar``."""
    return "x".join(map(str, shape)) if shape else "scalar"


def _tensors(shapes: Sequence[Shape]) -> str:
    more = " ..." if len(shapes) > MAX_TENSORS else ""
    return " + ".join(map(shape_text, shapes[:MAX_TENSORS])) + more
