"""Isolates a dry run from its surroundings: other dry runs, schedulers, generators, unknown code."""

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
"""The thread of the dry run in progress."""


def is_dry_running() -> bool:
    """Whether this thread is in a dry run: what it calls is counted, and its time means nothing."""
    return bool(_RUNNING) and _RUNNING[-1] == threading.get_ident()


@contextlib.contextmanager
def refuse_nesting() -> Iterator[None]:
    """A callback of a pipeline in a dry run must not start another: it would see the shapes of the first."""
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
    """Run on one thread: what is computed for real is small, and several threads would take longer."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def scheduler_copies(pipeline: Any) -> Iterator[dict[str, Any]]:
    """Use copies of the schedulers: they keep histories in lists, which a dry run would fill."""
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
    """A copy whose tensors lie in main memory: its history can be as large as several latents, and a GPU be full."""
    there = [part for part in leaves(vars(scheduler)) if isinstance(part, torch.Tensor) and is_accelerator(part.device)]
    return copy.deepcopy(scheduler, {id(tensor): tensor.cpu() for tensor in there})


def with_generators_on_host(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with generators of the CPU for those of an accelerator.

    What is computed for real in a dry run lies on the host, where diffusers refuses to draw numbers from a generator of
    another device. Which numbers come is of no interest.
    """

    def on_host(value: Any) -> Any:
        if isinstance(value, torch.Generator) and is_accelerator(value.device):
            return torch.Generator()
        return type(value)(map(on_host, value)) if type(value) in (list, tuple) else value

    return {name: on_host(value) for name, value in arguments.items()}


def refuse_unknown_code(pipeline: Any, state: PipelineState) -> None:
    """Refuse before anything runs what could crash on tensors without data, or what could not be put back."""
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
