"""Processes that make one call together, started by torchrun: the rank of this one, and joining the group.

Importing this module has no effect: only `join_ranks` does, and only in a process that torchrun has started.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from diffprof.errors import RequestError, first_line
from diffprof.pipelines.components import components_of, role_of
from diffprof.record.preparation import Preparation


@dataclass(frozen=True)
class Rank:
    """A process that torchrun has started."""

    number: int = 0
    local: int = 0
    """Its rank on this machine."""
    count: int = 1

    @property
    def is_first(self) -> bool:
        return self.number == 0


def this_rank() -> Rank:
    """Return the rank of this process; the only one if torchrun did not start it."""
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        return Rank()
    try:
        number, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        return Rank(number, int(os.environ.get("LOCAL_RANK", number)), count)
    except ValueError:
        raise RequestError("RANK, LOCAL_RANK and WORLD_SIZE must be numbers; start it with torchrun") from None


def check_ranks(preparation: Preparation) -> Rank:
    """Refuse to run with another number of processes than the request needs."""
    rank = this_rank()
    if preparation.parallel and rank.count != preparation.ranks:
        modes = preparation.texts["parallel"]
        raise RequestError(
            f"--parallel {modes} needs {preparation.ranks} processes and there {_is_or_are(rank.count)}; start it with "
            f"`torchrun --nproc-per-node {preparation.ranks} -m diffprof run ...`"
        )
    return rank


def _is_or_are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


def device_of_rank(device: torch.device, rank: Rank) -> torch.device:
    """Return the device of this rank, unless one was named; refuse more ranks than devices."""
    if rank.count == 1 or device.type == "cpu" or device.index is not None:
        return device
    backend: Any = getattr(torch, device.type)
    count = backend.device_count()
    if rank.local >= count:
        raise RequestError(
            f"rank {rank.number} has no device: this machine has {count} of the kind {device.type}, and torchrun has "
            f"started more processes on it; use --nproc-per-node {count}"
        )
    return torch.device(device.type, rank.local)


@contextlib.contextmanager
def join_ranks(device: torch.device) -> Iterator[Rank]:
    """Join the process group for the block; does nothing without other processes."""
    rank = this_rank()
    distributed: Any = torch.distributed
    if rank.count == 1 or (distributed.is_available() and distributed.is_initialized()):
        yield rank
        return
    if not distributed.is_available():
        raise RequestError("this torch was built without torch.distributed: it cannot use several processes")
    if device.index is not None:
        torch.accelerator.set_device_index(device.index)
    # Objects are sent by gloo, tensors of a GPU by its vendor's library.
    backend = "gloo" if device.type == "cpu" else f"cpu:gloo,{device.type}:{_library(device.type)}"
    try:
        distributed.init_process_group(backend)
    except (RuntimeError, ValueError) as error:
        raise RequestError(f"rank {rank.number} did not find the others: {first_line(error)}") from error
    try:
        # Every rank must draw the same noise.
        seed = [torch.initial_seed()]
        distributed.broadcast_object_list(seed, src=0)
        torch.manual_seed(seed[0])
        yield rank
    finally:
        distributed.destroy_process_group()


def _library(kind: str) -> str:
    return {"cuda": "nccl", "xpu": "xccl"}.get(kind, "gloo")


def spread_denoisers(pipeline: Any, preparation: Preparation) -> None:
    """Distribute every denoiser over the ranks with diffusers' own methods."""
    if not preparation.parallel:
        return
    denoisers = {slot: part for slot, part in components_of(pipeline).items() if role_of(slot, part) == "denoiser"}
    modes = preparation.texts["parallel"]
    able = {slot: part for slot, part in denoisers.items() if hasattr(part, "enable_parallelism")}
    if not able:
        raise RequestError(f"{type(pipeline).__name__} has no denoiser that diffusers can split across ranks")
    for slot, part in able.items():
        denoiser: Any = part
        try:
            with _at_least_one_device():
                denoiser.enable_parallelism(config=_config(preparation))
        except Exception as error:
            raise RequestError(f"{slot} cannot be split across ranks with {modes}: {first_line(error)}") from error


def _config(preparation: Preparation) -> Any:
    import diffusers

    degrees = preparation.parallel
    if "tensor" not in degrees:
        return diffusers.ContextParallelConfig(**{f"{mode}_degree": degree for mode, degree in degrees.items()})
    owner = getattr(diffusers, "TensorParallelConfig", None)
    if owner is None:
        raise RequestError("the installed diffusers has no tensor parallelism")
    return owner(tp_degree=degrees["tensor"])


@contextlib.contextmanager
def _at_least_one_device() -> Iterator[None]:
    """Patch diffusers, which divides by the number of accelerators, for a machine without any."""
    if torch.accelerator.device_count():
        yield
        return
    count = torch.accelerator.device_count
    torch.accelerator.device_count = lambda: 1
    try:
        yield
    finally:
        torch.accelerator.device_count = count
