"""The devices that a pipeline runs on: the main one, and those of components that lie elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from diffprof.pipelines.components import components_of, unwrap_compiled
from diffprof.runtime.instrumentation.iteration_recorder import OtherDevice
from diffprof.runtime.instrumentation.memory_reader import DeviceAllocator, MemoryReader
from diffprof.runtime.timing.devices import DeviceTimer, TorchSearch


def execution_device(pipeline: Any) -> torch.device:
    """Where the pipeline computes: offloaded weights lie elsewhere."""
    device: Any = getattr(pipeline, "_execution_device", None) or getattr(pipeline, "device", "cpu")
    return torch.device(device)


def further_devices(pipeline: Any, main: torch.device) -> dict[str, torch.device]:
    """The device of each component, by slot, that runs on an accelerator other than the main one.

    A component that is spread over several has the first of them that is not the main one: its input arrives there
    or leaves from there, and its own code waits for nothing else.
    """
    if main.type == "cpu" or main.index is None:
        return {}
    devices = {slot: list(_devices_of(part)) for slot, part in components_of(pipeline).items()}
    return {
        slot: others[0]
        for slot, found in devices.items()
        if (others := [place for place in found if place.type == main.type and place.index not in (None, main.index)])
    }


def _devices_of(component: torch.nn.Module) -> Iterator[torch.device]:
    """Where it computes: by its hooks, its map of devices, or where its weights lie."""
    component = unwrap_compiled(component)
    hook = getattr(component, "_hf_hook", None)
    places = [getattr(part, "execution_device", None) for part in (hook, *getattr(hook, "hooks", ()))]
    places += list((getattr(component, "hf_device_map", None) or {}).values())
    if not any(place is not None for place in places):
        weight = next(component.parameters(), None)
        places = [] if weight is None else [weight.device]
    for place in places:
        if place is not None and place != "disk":
            yield torch.device("cuda", place) if isinstance(place, int) else torch.device(place)


class DeviceWatch:
    """Times and memory of the devices that a pipeline uses, looked at anew before every call.

    A pipeline may be moved between two calls, and a device may come into use in the first one.
    """

    def __init__(self, pipeline: Any, timer: DeviceTimer | None = None, memory: MemoryReader | None = None) -> None:
        """`timer` and `memory`, where given, stand for those of the main device."""
        self._pipeline = pipeline
        self._given_timer, self._given_memory = timer, memory
        self._places: tuple[torch.device, dict[str, torch.device]] | None = None
        self._timer: DeviceTimer | None = None
        self._memory = MemoryReader()
        self._others: dict[str, OtherDevice] = {}

    def look(self) -> tuple[DeviceTimer | None, MemoryReader, Mapping[str, OtherDevice]]:
        """The timer and the memory of the main device, and the further devices by slot of their component."""
        main = execution_device(self._pipeline)
        places = main, further_devices(self._pipeline, main)
        if places != self._places:
            self._places = places
            self._create(main, places[1])
        for timer in (self._timer, *(other.timer for other in self._others.values())):
            if timer is not None and timer.is_searching:
                timer.search()
        return self._timer, self._memory, self._others

    def forget(self) -> None:
        """Drop the pipeline."""
        self._pipeline = None

    def _create(self, main: torch.device, others: Mapping[str, torch.device]) -> None:
        on_host = main.type == "cpu"
        self._timer = self._given_timer
        if self._timer is None and not on_host:
            self._timer = DeviceTimer(TorchSearch(main.index))
        timers = {place: DeviceTimer(TorchSearch(place.index)) for place in others.values()}
        self._others = {slot: OtherDevice(str(place), timers[place]) for slot, place in others.items()}
        allocators = {str(place): DeviceAllocator(place.index) for place in timers}
        self._memory = self._given_memory or MemoryReader(None if on_host else DeviceAllocator(main.index), allocators)
