"""Fake GPUs, whose readings a test sets."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

MIB = 1024**2


class FakeNvml:
    """NVML with two GPUs, the second of them in use."""

    class NVMLError(Exception):
        """As NVML raises it."""

    utilisation = {"GPU-first": 3, "GPU-second": 91, "MIG-slice": 0}  # noqa: RUF012  a fake

    def __init__(self, tells_utilisation: bool = True) -> None:
        self.tells_utilisation = tells_utilisation
        self.started = False

    def nvmlInit(self) -> None:
        self.started = True

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        assert self.started
        if uuid not in self.utilisation:
            raise self.NVMLError("Not Found")
        return uuid

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> SimpleNamespace:
        if not self.tells_utilisation:
            raise self.NVMLError("Not Supported")
        return SimpleNamespace(gpu=self.utilisation[handle], memory=1)

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> SimpleNamespace:
        return SimpleNamespace(total=24 * MIB, free=4 * MIB, used=20 * MIB)


class Sensors(FakeNvml):
    """A GPU with all sensors."""

    def nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        return 312_500

    def nvmlDeviceGetClockInfo(self, handle: str, clock: int) -> int:
        return 1410

    def nvmlDeviceGetTemperature(self, handle: str, sensor: int) -> int:
        return 71

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> int:
        return 0x04 | 0x20 | 0x40


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], None]:
    """A machine on which torch uses the GPU with the given UUID, and NVML is the given one."""

    def pretend(nvml: Any, uuid: str) -> None:
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.version, "hip", None)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda place=None: SimpleNamespace(uuid=uuid))
        monkeypatch.setitem(sys.modules, "pynvml", nvml)

    return pretend
