"""Distribute the components of a pipeline over several devices: by diffusers' rule, or as requested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from diffprof.errors import PipelineError, RequestError, first_line
from diffprof.pipelines.components import components_of, weight_bytes
from diffprof.pipelines.loading.placement import Target, requested_device
from diffprof.record.preparation import BALANCED, EVERY


def check_device_map(devices: Mapping[str, str], target: Target) -> None:
    """Refuse a map that this machine, or another option, rules out."""
    if not devices:
        return
    if target.offload is not None:
        raise RequestError("--device-map and --offload both decide where the weights are; leave one out")
    if devices.get(EVERY) == BALANCED:
        if not accelerator_memory():
            raise RequestError(
                "--device-map balanced needs accelerators to distribute components over, and there are none"
            )
        return
    for name in devices.values():
        requested_device(name)


def accelerator_memory() -> dict[int, int]:
    """Return the free memory of every accelerator, by index, as diffusers queries it."""
    from accelerate.utils import get_max_memory

    return {place: size for place, size in get_max_memory().items() if isinstance(place, int)}


def balanced_devices(sizes: Mapping[str, int], memory: Mapping[int, int], kind: str) -> dict[str, str]:
    """Return the device of each component by diffusers' rule for ``balanced``."""
    from diffusers.pipelines.pipeline_loading_utils import _assign_components_to_devices

    largest_first = dict(sorted(sizes.items(), key=lambda item: item[1], reverse=True))
    emptiest_first = dict(sorted(memory.items(), key=lambda item: item[1], reverse=True))
    assigned = _assign_components_to_devices(largest_first, emptiest_first)
    return {
        component: place if place == "cpu" else f"{kind}:{place}"
        for place, components in assigned.items()
        for component in components
    }


def spread_components(pipeline: Any, devices: Mapping[str, str], main: torch.device) -> None:
    """Move each component, with its future inputs, to its device; components that are not named go to the main one."""
    from accelerate import dispatch_model

    components = components_of(pipeline)
    if devices.get(EVERY) == BALANCED:
        sizes = {slot: weight_bytes(part) for slot, part in components.items()}
        devices = balanced_devices(sizes, accelerator_memory(), main.type)
    unknown = [slot for slot in devices if slot not in components]
    if unknown:
        raise RequestError(
            f"{type(pipeline).__name__} has no component {unknown[0]} to place; it has {', '.join(components)}"
        )
    places = {slot: devices.get(slot, str(main)) for slot in components}
    try:
        for slot, part in components.items():
            # As in diffusers: the hook moves the inputs there, and the result back.
            dispatch_model(part, {"": places[slot]}, force_hooks=True)
    except Exception as error:
        raise PipelineError(f"{type(pipeline).__name__} cannot be split across devices: {first_line(error)}") from error
    pipeline.hf_device_map = places
