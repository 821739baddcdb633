"""The devices that a pipeline runs on: the main one, and those of components on other devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from diffprof.pipelines.components import components_of, unwrap_compiled
from diffprof.runtime.instrumentation.iteration_recorder import OtherDevice
from diffprof.runtime.instrumentation.memory_reader import DeviceAllocator, MemoryReader
from diffprof.runtime.timing.devices import DeviceTimer, TorchSearch, is_in_use


def execution_device(pipeline: Any) -> torch.device:
    """The device on which the pipeline computes, even if its weights are offloaded."""
    device: Any = getattr(pipeline, "_execution_device", None) or getattr(pipeline, "device", "cpu")
    return torch.device(device)


def further_devices(pipeline: Any, main: torch.device) -> dict[str, torch.device]:
    """The devices of components that do not run on the main device, by slot.

    For a component on several devices, it is the first that is not the main one. Weights on the CPU do not show where
    they are used; only a hook or a device map does, as with a `device_map` that did not fit.
    """
    main = _with_index(main)
    if main.type != "cpu" and main.index is None:
        return {}
    devices = {slot: list(_devices_of(part, main)) for slot, part in components_of(pipeline).items()}
    return {
        slot: others[0]
        for slot, found in devices.items()
        if (others := [place for place in found if _is_elsewhere(place, main)])
    }


def _is_elsewhere(place: torch.device, main: torch.device) -> bool:
    if place.type == "cpu":
        return main.type != "cpu"
    return place.index is not None and place != main and (main.type == "cpu" or place.type == main.type)


def _with_index(place: torch.device) -> torch.device:
    """Add the index of the current device to ``cuda``, as group offload names it."""
    backend = getattr(torch, place.type, None)
    if place.index is not None or place.type == "cpu" or not hasattr(backend, "current_device"):
        return place
    return torch.device(place.type, backend.current_device()) if is_in_use(backend) else place


def _devices_of(component: torch.nn.Module, main: torch.device) -> Iterator[torch.device]:
    """The devices on which a component computes: from its hooks, its device map, or the device of its weights."""
    component = unwrap_compiled(component)
    hook = getattr(component, "_hf_hook", None)
    places = [getattr(part, "execution_device", None) for part in (hook, *getattr(hook, "hooks", ()))]
    places += list((getattr(component, "hf_device_map", None) or {}).values())
    if not any(place is not None for place in places):
        weight = next(component.parameters(), None)
        places = [] if weight is None or weight.device.type in ("cpu", "meta") else [weight.device]
    kind = main.type if main.type != "cpu" else "cuda"
    for place in places:
        if place is not None and place != "disk":
            yield torch.device(kind, place) if isinstance(place, int) else torch.device(place)


class DeviceWatch:
    """Timers and memory readers for the devices of a pipeline, updated before every call.

    A pipeline may be moved between two calls, and a device may come into use during the first one.
    """

    def __init__(self, pipeline: Any, timer: DeviceTimer | None = None, memory: MemoryReader | None = None) -> None:
        """`timer` and `memory` replace those of the main device."""
        self._pipeline = pipeline
        self._given_timer, self._given_memory = timer, memory
        self._places: tuple[torch.device, dict[str, torch.device]] | None = None
        self._timer: DeviceTimer | None = None
        self._memory = MemoryReader()
        self._others: dict[str, OtherDevice] = {}

    def refresh(self) -> tuple[DeviceTimer | None, MemoryReader, Mapping[str, OtherDevice]]:
        """The timer and the memory reader of the main device, and the further devices by component slot."""
        main = execution_device(self._pipeline)
        places = main, further_devices(self._pipeline, main)
        if places != self._places:
            self._places = places
            self._create(main, places[1])
        for timer in (self._timer, *(other.timer for other in self._others.values())):
            if timer is not None and timer.is_searching:
                timer.search()
        return self._timer, self._memory, self._others

    @property
    def memory_problem(self) -> str | None:
        """Why the memory of a device is no longer read."""
        return self._memory.problem

    def forget(self) -> None:
        """Release the pipeline."""
        self._pipeline = None

    def _create(self, main: torch.device, others: Mapping[str, torch.device]) -> None:
        on_host = main.type == "cpu"
        self._timer = self._given_timer
        if self._timer is None and not on_host:
            self._timer = DeviceTimer(TorchSearch(main.index))
        # Components on the CPU are timed with the accelerator's clock, too, because times in a table must add up.
        timers = {
            place: DeviceTimer(TorchSearch(place.index if place.type != "cpu" else main.index))
            for place in others.values()
        }
        self._others = {slot: OtherDevice(str(place), timers[place]) for slot, place in others.items()}
        allocators = {str(place): DeviceAllocator(place.index) for place in timers if place.type != "cpu"}
        self._memory = self._given_memory or MemoryReader(None if on_host else DeviceAllocator(main.index), allocators)
