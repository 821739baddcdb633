"""Record moves of weights by offloading: between host, device and disk, with their times.

The host time of a move can include waiting for earlier work of the device, as with a copy back to the host. Only
weights whose storage changed were moved: freeing a copy on the device while the host has another is not a move. Reads
from disk count as such, even if the same call continues to a device; whether they hit the page cache is unknown. The
quantization state of a bitsandbytes weight is not counted.
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
from diffprof.runtime.timing.devices import Mark


def record_moves(components: Iterable[torch.nn.Module]) -> Callable[[], None]:
    """Record all moves of weights in the current iteration, until the returned function is called.

    Model offload, and code that moves a component itself, calls the component's ``to``; sequential and disk offload
    fill empty modules just before they run; group offload has its own functions.
    """
    functions = [
        *((owner, "to", _handle_to) for owner in dict.fromkeys(type(component) for component in components)),
        (AlignDevicesHook, "pre_forward", _handle_pre_forward),
        (ModuleGroup, "onload_", _handle_onload),
        (ModuleGroup, "offload_", _handle_offload),
    ]
    with contextlib.ExitStack() as undo:
        for owner, name, handler in functions:
            # Compiled code does not trace into these functions, and must not trace into their handlers either.
            undo.callback(intercept(owner, name, torch.compiler.disable(handler)))
        return undo.pop_all().close


def _handle_to(original: Callable[..., Any], component: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    target = _move_target(component)
    if target is None:
        return original(component, *args, **kwargs)
    origins = [weight.device.type for weight in _weights(component)]
    # A non-blocking copy runs on the current stream; whether other work overlaps with it is unknown.
    hidden = None if kwargs.get("non_blocking") or any(argument is True for argument in args) else False
    on_cpu = any(_is_cpu_as_device(argument) for argument in (*args, kwargs.get("device")))
    began = target.begin()
    try:
        return original(component, *args, **kwargs)
    finally:
        target.end(began, zip(origins, _weights(component), strict=True), hidden, on_cpu=on_cpu)


def _handle_pre_forward(original: Callable[..., Any], hook: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """Handle accelerate's hooks, some of which fill an empty module before it runs; most only move the inputs."""
    target = _move_target(args[0]) if hook.offload else None
    if target is None:
        return original(hook, *args, **kwargs)
    # A shared weight is reused if another module already has it on the device.
    shared = {id(weight) for copies in (hook.tied_params_map or {}).values() for weight in copies.values()}
    began = target.begin()
    try:
        return original(hook, *args, **kwargs)
    finally:
        target.end(began, _filled_weights(hook, args[0]), hidden=False, already_moved=shared)


def _filled_weights(hook: Any, module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """The weights that accelerate has filled in, each with the place where it is stored otherwise."""
    weights, prefix = hook.weights_map, ""
    while isinstance(weights, PrefixedDataset):
        weights, prefix = weights.dataset, weights.prefix + prefix
    may_be_on_disk = isinstance(weights, OffloadedWeightsLoader)
    for name, weight in named_module_tensors(module, hook.offload_buffers, hook.place_submodules, True):
        yield FROM_DISK if may_be_on_disk and prefix + name not in weights.state_dict else "cpu", weight


def _handle_onload(original: Callable[..., Any], group: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    target = _move_target(group.offload_leader)
    if target is None:
        return original(group, *args, **kwargs)
    # With a stream, the host keeps a copy of each weight and sends that copy.
    copies = group.cpu_param_dict
    origins = [copies[weight].device.type if copies else weight.device.type for weight in _weights_of_group(group)]
    on_disk, hidden, on_cpu = _is_on_disk(group), _is_hidden(group), _is_cpu_as_device(group.onload_device)
    began = target.begin()
    try:
        result = original(group, *args, **kwargs)
        if on_disk:  # and could be read
            origins = [FROM_DISK] * len(origins)
        return result
    finally:
        target.end(began, zip(origins, _weights_of_group(group), strict=True), hidden, on_cpu=on_cpu)


def _is_on_disk(group: Any) -> bool:
    return group.offload_to_disk_path is not None


def _is_hidden(group: Any) -> bool | None:
    """Whether this group is fetched on its own stream while the previous group computes; None if that is unknown.

    The host waits for a group that fetches itself, and for every group in the first pass, which determines their
    order. It also waits for groups that are missing in this order, but these cannot be recognized here.
    """
    if group.stream is None or not group.non_blocking or group.onload_self:
        return False
    # The host reads the file before it sends anything; whether the device was busy meanwhile is unknown.
    return None if _is_on_disk(group) else True


def _handle_offload(original: Callable[..., Any], group: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    host_keeps_copy = group.stream is not None or _is_on_disk(group)
    target = None if host_keeps_copy else _move_target(group.offload_leader)
    if target is None:
        return original(group, *args, **kwargs)
    origins = [weight.device.type for weight in _weights_of_group(group)]
    began = target.begin()
    try:
        return original(group, *args, **kwargs)
    finally:
        target.end(began, zip(origins, _weights_of_group(group), strict=True), hidden=False)


class _Thread(threading.local):
    moving = False
    """Whether a move is being recorded on this thread; nested functions belong to it."""


_THREAD = _Thread()


class _Begin(NamedTuple):
    """The start of a move on the host and on the computing device."""

    at_ns: int
    mark: Mark | None


class _MoveTarget(NamedTuple):
    """The current iteration and the component of the weights, for which a move is recorded."""

    iteration: IterationRecorder
    component: str

    def begin(self) -> _Begin:
        _THREAD.moving = True
        return _Begin(self.iteration.now(), self.iteration.mark(self.component))

    def end(
        self,
        began: _Begin,
        weights: Iterable[tuple[str, torch.Tensor]],
        hidden: bool | None,
        *,
        on_cpu: bool = False,
        already_moved: AbstractSet[int] = frozenset(),
    ) -> None:
        """Record which of the `weights` were moved; each has its origin, a device type or the disk.

        With `on_cpu`, weights that stay on the CPU were copied, too. Those in `already_moved`, by `id`, are skipped.
        """
        host_ns = self.iteration.now() - began.at_ns
        # A hidden move runs on its own stream, which these marks do not cover.
        marks = (began.mark, self.iteration.mark(self.component)) if hidden is not True else None
        _THREAD.moving = False
        step = self.iteration.step
        moved = _moved_bytes(weights, on_cpu, already_moved)
        # With two directions, the time of each is unknown; all of it is assigned to reading, which is slower.
        for direction in (FROM_DISK, HOST_TO_DEVICE, DEVICE_TO_HOST) if moved else ():
            if direction in moved:
                move = Move(self.component, direction, moved[direction], began.at_ns, host_ns, step, hidden)
                self.iteration.add_move(move, marks)
                host_ns, marks = 0, None


def _move_target(module: torch.nn.Module) -> _MoveTarget | None:
    """The target for a module's move; None for another pipeline's module, or inside a move that is being recorded."""
    iteration = current_iteration()
    if iteration is None or _THREAD.moving:
        return None
    place = iteration.slot_of(module) or iteration.slot_of(unwrap_compiled(module))
    return None if place is None else _MoveTarget(iteration, place[0])


def _moved_bytes(
    weights: Iterable[tuple[str, torch.Tensor]], on_cpu: bool, already_moved: AbstractSet[int]
) -> Mapping[str, int]:
    """Bytes that were moved, by direction."""
    moved: dict[str, int] = {}
    seen = set(already_moved)
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
    """Whether it is ``cpu:0``, which torch treats as different from ``cpu``, so that it copies each time."""
    return isinstance(device, (str, torch.device)) and str(device).startswith("cpu:")


def _held_bytes(weight: torch.Tensor) -> int:
    """Bytes of the tensors with the data; a quantized weight can be a wrapper around several."""
    flatten = getattr(weight, "__tensor_flatten__", None)
    return weight.nbytes if flatten is None else sum(_held_bytes(getattr(weight, name)) for name in flatten()[0])


def _weights(module: torch.nn.Module) -> list[torch.Tensor]:
    """Parameters and buffers; shared ones are repeated, because moving may duplicate them."""
    return [
        weight
        for part in module.modules()
        for weight in (*part._parameters.values(), *part._buffers.values())
        if weight is not None
    ]


def _weights_of_group(group: Any) -> list[torch.Tensor]:
    inside = [weight for module in group.modules for weight in _weights(module)]
    return [*inside, *group.parameters, *group.buffers]
