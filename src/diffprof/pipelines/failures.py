"""What goes wrong inside a pipeline's own code, as an error of ours with one sentence."""

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

ALLOCATOR_MESSAGES = ("can't allocate memory", "out of memory", "not enough memory", "Invalid buffer size")


def pipeline_failure(pipeline: Any, error: Exception, context: str = "") -> PipelineError:
    """The error to raise for an error of the pipeline's own code: out of memory, a refused call, or a failure.

    `context` follows the word "failed": ``while it was measured``.
    """
    name, reason = type(pipeline).__name__, first_line(error)
    if is_out_of_memory(error):
        return OutOfMemoryError(name, reason or type(error).__name__)
    if isinstance(error, ValueError) and reason:
        return RefusedCallError(name, reason)
    packages = packages_behind(error)
    if packages:
        return PipelineError(f"{name} needs packages that are not installed: `pip install {' '.join(packages)}`")
    failed = f"failed {context}" if context else "failed"
    return PipelineError(f"{name} {failed}: {error_summary(error)}")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the machine or the device had no memory left."""
    from_allocator = isinstance(error, RuntimeError) and any(text in str(error) for text in ALLOCATOR_MESSAGES)
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or from_allocator


@contextlib.contextmanager
def panics_as_errors() -> Iterator[None]:
    """Inside, a failed check in a library written in Rust is an error like any other.

    Python gets it as something that `except Exception` does not catch, and its class cannot be imported.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RuntimeError(f"a library written in Rust failed: {error}") from error


def packages_behind(error: BaseException) -> list[str]:
    """The packages that are not installed and whose absence made code of a library fail.

    Libraries import what needs an optional package below ``if is_torchvision_available():``; without the package,
    a name is missing later.
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
