"""Offloading: which weights go between host, device and disk, when, and how long the host is busy with it.

The host's time has in it what it waits for the device's earlier work, as a copy back to the host does.
What counts is what happened to the weights: those that came to another memory were moved, nothing else was. Letting go
of a copy on the device while the host keeps its own moves nothing. What is read from disk counts as that, also where
the same call takes it on to a device; whether the disk or the system's cache of it answered is not known. What a
quantized weight of bitsandbytes carries beside its data is not counted.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import torch
from accelerate.hooks import AlignDevicesHook
from accelerate.utils import OffloadedWeightsLoader, PrefixedDataset, named_module_tensors
from diffusers.hooks.group_offloading import ModuleGroup

from diffprof.pipelines.components import unwrap_compiled
from diffprof.record.measured import DEVICE_TO_HOST, FROM_DISK, HOST_TO_DEVICE, Move
from diffprof.runtime.instrumentation.interception import intercept
from diffprof.runtime.instrumentation.iteration_recorder import IterationRecorder, current_iteration


def watch_moves(components: Iterable[torch.nn.Module]) -> Callable[[], None]:
    """Write down every move of weights in the iteration that is open, until the function given back is called.

    Model offload, and whoever moves a component by hand, calls the component's own ``to``; sequential and disk offload
    fill empty modules just before they run; group offload has functions of its own.
    """
    functions = [
        *((owner, "to", _component_moves) for owner in dict.fromkeys(type(component) for component in components)),
        (AlignDevicesHook, "pre_forward", _module_is_filled),
        (ModuleGroup, "onload_", _group_comes),
        (ModuleGroup, "offload_", _group_goes),
    ]
    with contextlib.ExitStack() as undo:
        for owner, name, handler in functions:
            # Compiled code does not look into what these stand for, and must not look into them either.
            undo.callback(intercept(owner, name, torch.compiler.disable(handler)))
        return undo.pop_all().close


def _component_moves(original: Callable[..., Any], component: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    here = _here(component)
    if here is None:
        return original(component, *args, **kwargs)
    origins = [weight.device.type for weight in _weights(component)]
    # Not blocking, it goes on whatever stream is current: what else is under way there cannot be seen from here.
    hidden = None if kwargs.get("non_blocking") or any(argument is True for argument in args) else False
    on_cpu = any(_is_cpu_as_device(argument) for argument in (*args, kwargs.get("device")))
    began = here.begin()
    try:
        return original(component, *args, **kwargs)
    finally:
        here.end(began, zip(origins, _weights(component), strict=True), hidden, on_cpu=on_cpu)


def _module_is_filled(original: Callable[..., Any], hook: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """Accelerate keeps modules empty and fills each before it runs; most of its hooks only see to the inputs."""
    here = _here(args[0]) if hook.offload else None
    if here is None:
        return original(hook, *args, **kwargs)
    # A weight that several modules share is used again where another of them has it on the device already.
    shared = {id(weight) for copies in (hook.tied_params_map or {}).values() for weight in copies.values()}
    began = here.begin()
    try:
        return original(hook, *args, **kwargs)
    finally:
        here.end(began, _filled(hook, args[0]), hidden=False, there=shared)


def _filled(hook: Any, module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """The weights that accelerate has filled in, each with where it keeps them while the module is empty."""
    weights, prefix = hook.weights_map, ""
    while isinstance(weights, PrefixedDataset):
        weights, prefix = weights.dataset, weights.prefix + prefix
    may_be_on_disk = isinstance(weights, OffloadedWeightsLoader)
    for name, weight in named_module_tensors(module, hook.offload_buffers, hook.place_submodules, True):
        yield FROM_DISK if may_be_on_disk and prefix + name not in weights.state_dict else "cpu", weight


def _group_comes(original: Callable[..., Any], group: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    here = _here(group.offload_leader)
    if here is None:
        return original(group, *args, **kwargs)
    # With a stream the host keeps a copy of each, and it is that copy which is sent.
    copies = group.cpu_param_dict
    origins = [copies[weight].device.type if copies else weight.device.type for weight in _weights_of_group(group)]
    on_disk, hidden, on_cpu = _is_on_disk(group), _is_hidden(group), _is_cpu_as_device(group.onload_device)
    began = here.begin()
    try:
        result = original(group, *args, **kwargs)
        if on_disk:  # and could be read
            origins = [FROM_DISK] * len(origins)
        return result
    finally:
        here.end(began, zip(origins, _weights_of_group(group), strict=True), hidden, on_cpu=on_cpu)


def _is_on_disk(group: Any) -> bool:
    return group.offload_to_disk_path is not None


def _is_hidden(group: Any) -> bool | None:
    """Is this group fetched on a stream of its own while the one before it computes?

    The host waits for a group that fetches itself, and for every group in the first pass, which finds out their order.
    It also waits, later, for one that the order has left out; the same call fetches that one, with no way to tell.
    """
    if group.stream is None or not group.non_blocking or group.onload_self:
        return False
    # The host reads the file before it sends anything; whether the device had enough to do meanwhile is not known.
    return None if _is_on_disk(group) else True


def _group_goes(original: Callable[..., Any], group: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    kept = group.stream is not None or _is_on_disk(group)
    here = None if kept else _here(group.offload_leader)
    if here is None:
        return original(group, *args, **kwargs)
    origins = [weight.device.type for weight in _weights_of_group(group)]
    began = here.begin()
    try:
        return original(group, *args, **kwargs)
    finally:
        here.end(began, zip(origins, _weights_of_group(group), strict=True), hidden=False)


class _Thread(threading.local):
    moving = False
    """Is a move being watched? Functions that it calls in turn belong to it."""


_THREAD = _Thread()


class _Here(NamedTuple):
    """Where a move is written down: the iteration that is open, and the component whose weights they are."""

    iteration: IterationRecorder
    component: str

    def begin(self) -> int:
        _THREAD.moving = True
        return self.iteration.now()

    def end(
        self,
        began: int,
        weights: Iterable[tuple[str, torch.Tensor]],
        hidden: bool | None,
        *,
        on_cpu: bool = False,
        there: AbstractSet[int] = frozenset(),
    ) -> None:
        """Write down which of the `weights` were moved from where they were: on disk, or on what kind of device.

        `on_cpu`: also those that stay on the CPU were copied. Those in `there`, by their `id`, were moved before.
        """
        host_ns = self.iteration.now() - began
        _THREAD.moving = False
        step = self.iteration.step
        moved = _moved_bytes(weights, on_cpu, there)
        # Which part of the time went into which cannot be told where there are two; reading is slower than sending.
        for direction in (FROM_DISK, HOST_TO_DEVICE, DEVICE_TO_HOST) if moved else ():
            if direction in moved:
                move = Move(self.component, direction, moved[direction], began, host_ns, step, hidden)
                self.iteration.moves.append(move)
                host_ns = 0


def _here(module: torch.nn.Module) -> _Here | None:
    """None where there is nothing to write down: another pipeline's module, or part of a move that is watched."""
    iteration = current_iteration()
    if iteration is None or _THREAD.moving:
        return None
    place = iteration.slot_of(module) or iteration.slot_of(unwrap_compiled(module))
    return None if place is None else _Here(iteration, place[0])


def _moved_bytes(
    weights: Iterable[tuple[str, torch.Tensor]], on_cpu: bool, there: AbstractSet[int]
) -> Mapping[str, int]:
    """Bytes that came to another memory, by direction."""
    moved: dict[str, int] = {}
    seen = set(there)
    for origin, weight in weights:
        direction = _direction(origin, weight.device.type, on_cpu)
        if direction is not None and id(weight) not in seen:
            seen.add(id(weight))
            moved[direction] = moved.get(direction, 0) + _held_bytes(weight)
    return moved


def _direction(origin: str, place: str, on_cpu: bool) -> str | None:
    if "meta" in (origin, place):  # there is no data there
        return None
    if origin == FROM_DISK:
        return FROM_DISK
    if place == "cpu" and origin != "cpu":
        return DEVICE_TO_HOST
    return HOST_TO_DEVICE if origin == "cpu" and (place != "cpu" or on_cpu) else None


def _is_cpu_as_device(device: Any) -> bool:
    """Is it ``cpu:0``? To torch that is another device than ``cpu``: it copies what is moved there, each time."""
    return isinstance(device, (str, torch.device)) and str(device).startswith("cpu:")


def _held_bytes(weight: torch.Tensor) -> int:
    """Of the tensors that hold the data: a quantized weight can be a shell around several."""
    flatten = getattr(weight, "__tensor_flatten__", None)
    return weight.nbytes if flatten is None else sum(_held_bytes(getattr(weight, name)) for name in flatten()[0])


def _weights(module: torch.nn.Module) -> list[torch.Tensor]:
    """Parameters and buffers; a shared one as often as it is shared, as moving may make several of it."""
    return [
        weight
        for part in module.modules()
        for weight in (*part._parameters.values(), *part._buffers.values())
        if weight is not None
    ]


def _weights_of_group(group: Any) -> list[torch.Tensor]:
    inside = [weight for module in group.modules for weight in _weights(module)]
    return [*inside, *group.parameters, *group.buffers]
