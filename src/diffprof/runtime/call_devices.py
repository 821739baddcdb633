"""The devices of a measured call, and their peaks at that time.

Read right after each call, because a program may allow TF32, or move the pipeline, between two calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from diffprof.record.measured import Device, Iteration, Limitation
from diffprof.runtime.device import accelerator_at, device_of, processor_of
from diffprof.runtime.instrumentation.pipeline_devices import execution_device


@dataclass(frozen=True)
class CallDevices:
    """The devices of one call."""

    main: Device | None = None
    """None for the CPU, whose peak is measured later, outside of any call."""
    others: Mapping[str, Device] = field(default_factory=dict)
    """Further devices by name, such as ``cuda:1``."""
    limitations: tuple[Limitation, ...] = field(default=(), compare=False)
    """What could not be read or timed."""


def read_devices(pipeline: Any, iteration: Iteration) -> CallDevices:
    """Read the devices of a call that has just ended."""
    place = execution_device(pipeline)
    names = sorted({sample.device for sample in iteration.samples if sample.device is not None})
    problems: list[Limitation] = []
    main = None if place.type == "cpu" else _read_main(pipeline, place, problems)
    others = {name: _read_other(name, problems) for name in names}
    is_on_accelerator = main is not None or any(name != "cpu" for name in names)
    if iteration.samples and iteration.wall.device_ns is None and is_on_accelerator:
        problems.append(Limitation("launch_times"))
    return CallDevices(main, others, tuple(problems))


def read_host(pipeline: Any, problems: list[Limitation]) -> Device:
    """The CPU, with its measured peaks."""
    try:
        return processor_of(pipeline)
    except Exception as error:  # noqa: BLE001  a lost device must not end the measurement
        problems.append(_problem(error))
        return Device("cpu", "cpu")


def _read_main(pipeline: Any, place: torch.device, problems: list[Limitation]) -> Device:
    try:
        return device_of(pipeline)
    except Exception as error:  # noqa: BLE001  as above
        problems.append(_problem(error))
        return Device(place.type, place.type)


def _read_other(name: str, problems: list[Limitation]) -> Device:
    try:
        return accelerator_at(torch.device(name))
    except Exception as error:  # noqa: BLE001  as above
        problems.append(_problem(error))
        return Device(name, torch.device(name).type)


def _problem(error: Exception) -> Limitation:
    return Limitation("no_device", f"{type(error).__name__}: {error}")
