"""Learn from a failed call of a pipeline how far it got and which inputs it lacked."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import traceback
from collections.abc import Collection, Iterator
from types import FrameType
from typing import Any

from diffprof.pipelines.components import pipelines_in


def progress_of(pipeline: Any, error: BaseException) -> tuple[int, ...]:
    """Return how far the call got: the lines of the pipeline's own code that were executing, outermost first.

    A greater result is further: arguments are checked above their use.
    """
    return tuple(line for _, line in _own_frames(pipeline, error))


def missing_inputs(pipeline: Any, error: BaseException, names: Collection[str]) -> list[str]:
    """Return the inputs that the call lacked: those that the message names or that were None where it failed."""
    named = [name for name in names if re.search(rf"\b{name}\b", str(error))]
    absent = {
        name
        for frame, line in _own_frames(pipeline, error)
        for name in _names_in_statement(frame, line)
        if name in SWITCHES or _is_absent(frame.f_locals.get(name, ...))
    }
    return list(dict.fromkeys([*named, *(name for name in names if name in absent)]))


SWITCHES = ("output_type", "use_resolution_binning")
"""Never missing: without them, the result is not converted to images, and a size without a bin is left as it is."""


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, list) and bool(value) and all(part is None for part in value))


def _own_frames(pipeline: Any, error: BaseException) -> Iterator[tuple[FrameType, int]]:
    """Yield the frames of methods of the pipeline, or of one inside it, with the lines that the error passed."""
    for frame, line in traceback.walk_tb((error.__cause__ or error).__traceback__):
        if any(frame.f_locals.get("self") is own for own in pipelines_in(pipeline)):
            yield frame, line


def _names_in_statement(frame: FrameType, line: int) -> set[str]:
    """Return the names in the statement at a line; if it only raises an error, also those in its condition."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(frame.f_code)))
    except (OSError, TypeError, SyntaxError):
        return set()
    at = line - frame.f_code.co_firstlineno + 1
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= at <= (node.end_lineno or node.lineno)
    ]
    innermost = max(around, key=lambda node: node.lineno, default=None)
    parts: list[ast.AST] = [innermost] if innermost is not None and not hasattr(innermost, "body") else []
    if isinstance(innermost, ast.Raise):
        parts += [node.test for node in around if isinstance(node, ast.If)]
    return {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}
