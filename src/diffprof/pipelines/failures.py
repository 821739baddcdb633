"""What goes wrong inside a pipeline's own code, as an error of ours with one sentence."""

from __future__ import annotations

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
    failed = f"failed {context}" if context else "failed"
    return PipelineError(f"{name} {failed}: {error_summary(error)}")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the machine or the device had no memory left."""
    from_allocator = isinstance(error, RuntimeError) and any(text in str(error) for text in ALLOCATOR_MESSAGES)
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or from_allocator
