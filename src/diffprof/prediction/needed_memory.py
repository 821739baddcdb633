"""Whether a generation fits on accelerators: worked out once for all of them."""

from __future__ import annotations

from diffprof.catalogue.accelerators import Accelerator
from diffprof.prediction.allocator import OutOfDeviceMemory
from diffprof.prediction.device_memory import device_memory
from diffprof.prediction.memory import predict_memory
from diffprof.prediction.resolving import resolve_settings
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings

LEAST_SHARE, MOST_SHARE = 0.8, 1.1
"""Around what one accelerator allocates and reserves: what others may differ by, in workspaces."""


class NeededMemory:
    """The memory that a generation needs, as `diffprof fit` works it out: once, and again only where it is close."""

    def __init__(self, profile: Profile, settings: RunSettings, accelerator: Accelerator) -> None:
        self.profile = profile
        self.settings = resolve_settings(profile, settings)
        stages = predict_memory(profile, self.settings, device_memory(accelerator))
        self.device_bytes = max(stage.device_bytes for stage in stages)
        self.least = LEAST_SHARE * max(stage.allocated_bytes for stage in stages)
        self.most = MOST_SHARE * max(stage.reserved_bytes for stage in stages)

    def fits(self, accelerator: Accelerator) -> bool:
        """Whether an accelerator has it."""
        device = device_memory(accelerator)
        capacity = device.capacity_bytes or 0
        if not self.least <= capacity <= self.most:
            return capacity > self.most
        try:
            predict_memory(self.profile, self.settings, device, capacity)
        except OutOfDeviceMemory:
            return False
        return True
