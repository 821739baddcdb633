"""Convert errors of a pipeline's own code into errors of diffprof, with one sentence."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import torch

from diffprof.errors import OutOfMemoryError, PipelineError, RefusedCallError, error_summary, first_line
from diffprof.pipelines.failure_places import place_of_failure

ALLOCATOR_MESSAGES = ("can't allocate memory", "out of memory", "not enough memory", "Invalid buffer size")


def pipeline_failure(pipeline: Any, error: Exception, context: str = "") -> PipelineError:
    """Return the error to raise for an error of the pipeline's own code: out of memory, a refused call, or a failure.

    `context` follows the word "failed", for example ``while it was measured``.
    """
    name, reason = type(pipeline).__name__, first_line(error)
    if is_out_of_memory(error):
        return OutOfMemoryError(name, reason or type(error).__name__)
    if isinstance(error, ValueError) and reason:
        return RefusedCallError(name, reason)
    packages = missing_optional_packages(error)
    if packages:
        return PipelineError(f"{name} needs packages that are not installed: `pip install {' '.join(packages)}`")
    failed = f"failed {context}" if context else "failed"
    # Messages of torch about shapes name neither the module nor its inputs.
    place = place_of_failure(pipeline, error) if isinstance(error, RuntimeError) else ""
    return PipelineError(f"{name} {failed}: {error_summary(error).rstrip('.')}{f' ({place})' if place else ''}")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the machine or the device ran out of memory."""
    from_allocator = isinstance(error, RuntimeError) and any(text in str(error) for text in ALLOCATOR_MESSAGES)
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or from_allocator


class RustPanic(RuntimeError):
    """A panic in a library written in Rust."""


CONFIG_VALUE_ERRORS = (TypeError, ValueError, RuntimeError, ArithmeticError, IndexError)
"""Errors that torch raises for a value of a configuration, in functions without a Python frame."""


def is_own_mistake(error: BaseException, otherwise: tuple[type[BaseException], ...] = (RustPanic,)) -> bool:
    """Whether a line of diffprof raised the error, which makes it our bug and not a failure of the pipeline.

    Errors of the types `otherwise` never count as ours.
    """
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    # A torch function that is passed on has no frame of its own: the values that it refuses came from the pipeline.
    is_handed_on = frame.f_code.co_name in ("__torch_function__", "__torch_dispatch__")
    # Neither has a call that the original function refuses: the arguments came from the pipeline.
    is_handed_on = is_handed_on or (isinstance(error, TypeError) and "original" in frame.f_code.co_freevars)
    is_ours = str(frame.f_globals.get("__name__", "")).startswith("diffprof.")
    return is_ours and not is_handed_on and not isinstance(error, otherwise)


@contextlib.contextmanager
def panics_as_errors() -> Iterator[None]:
    """Convert panics of libraries written in Rust into ordinary errors.

    `except Exception` does not catch a panic, and its class cannot be imported.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RustPanic(f"a library written in Rust failed: {error}") from error


def missing_optional_packages(error: BaseException) -> list[str]:
    """Return the missing packages that made a library's code fail.

    Libraries import optional packages below ``if is_torchvision_available():``; without the package, a name is missing
    later.
    """
    if isinstance(error, ModuleNotFoundError) and error.name:
        return [error.name.split(".")[0]]
    if not isinstance(error, NameError):
        return []
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    try:
        source = inspect.getsource(sys.modules[frame.f_globals["__name__"]])
    except (KeyError, OSError, TypeError):
        return []
    found = []
    for branch in [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.If)]:
        if error.name in _bound_names(branch.body):
            found += OPTIONAL_PACKAGE.findall(ast.unparse(branch.test))
    return [name for name in dict.fromkeys(found) if not frame.f_globals[f"is_{name}_available"]()]


OPTIONAL_PACKAGE = re.compile(r"is_(\w+)_available\(\)")


def _bound_names(statements: list[ast.stmt]) -> set[str]:
    imports = [part for part in statements if isinstance(part, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name for part in imports for alias in part.names}
