"""Isolate a dry run from other dry runs, schedulers, generators and unknown code."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Iterator
from typing import Any

import torch

from diffprof.counting.boundary import leaves
from diffprof.counting.operations.functions import is_accelerator
from diffprof.counting.pipeline_state import PipelineState
from diffprof.errors import DiffprofError, UncountableError
from diffprof.pipelines.components import pipelines_in, schedulers_of

_RUNNING: list[int] = []
"""The thread of the current dry run."""


def is_dry_running() -> bool:
    """Whether this thread is in a dry run, where calls are counted and times are meaningless."""
    return bool(_RUNNING) and _RUNNING[-1] == threading.get_ident()


@contextlib.contextmanager
def refuse_nesting() -> Iterator[None]:
    """Refuse a dry run inside a dry run, for example in a callback: it would see the shapes of the outer one."""
    if _RUNNING:
        raise DiffprofError(
            "a profile cannot be made while another one is being made, for example in a callback; make it afterwards"
        )
    _RUNNING.append(threading.get_ident())
    try:
        yield
    finally:
        _RUNNING.pop()


@contextlib.contextmanager
def single_thread() -> Iterator[None]:
    """Run on one thread: the values that are really computed are small, and more threads would be slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def scheduler_copies(pipeline: Any) -> Iterator[dict[str, Any]]:
    """Use copies of the schedulers, because a dry run would fill the histories that they keep in lists."""
    schedulers = schedulers_of(pipeline)
    copies = {name: _copy_to_host(scheduler) for name, scheduler in schedulers.items()}
    holders = pipelines_in(pipeline)
    before = [(holder, dict(vars(holder))) for holder in holders]
    for holder in holders:
        for name, value in list(vars(holder).items()):
            for slot, scheduler in schedulers.items():
                if value is scheduler:
                    vars(holder)[name] = copies[slot]
    try:
        yield copies
    finally:
        for holder, attributes in before:
            vars(holder).clear()
            vars(holder).update(attributes)


def _copy_to_host(scheduler: Any) -> Any:
    """Copy a scheduler to main memory: its history can be as large as several latents, and the GPU may be full."""
    there = [part for part in leaves(vars(scheduler)) if isinstance(part, torch.Tensor) and is_accelerator(part.device)]
    return copy.deepcopy(scheduler, {id(tensor): tensor.cpu() for tensor in there})


def with_generators_on_host(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with generators on the CPU instead of on an accelerator.

    Values that a dry run really computes are on the host, where diffusers refuses generators of another device. The
    random numbers themselves do not matter.
    """

    def on_host(value: Any) -> Any:
        if isinstance(value, torch.Generator) and is_accelerator(value.device):
            return torch.Generator()
        return type(value)(map(on_host, value)) if type(value) in (list, tuple) else value

    return {name: on_host(value) for name, value in arguments.items()}


def refuse_unknown_code(pipeline: Any, state: PipelineState) -> None:
    """Refuse, before anything runs, code that could crash without data, or whose state could not be restored."""
    name = type(pipeline).__name__
    if state.kernels:
        raise UncountableError(
            f"{name} was not dry-run: it contains code unknown to diffprof, which calls {state.kernels[0]}, "
            "which is not an operation of PyTorch and would be launched on memory that does not exist"
        )
    if state.unknown:
        raise UncountableError(
            f"{name} was not dry-run: it contains code unknown to diffprof, which keeps "
            f"{state.unknown[0]}, whose state could not be restored afterwards"
        )
