"""The memory that a device and its driver use in addition to PyTorch's allocations."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.catalogue.accelerators import Accelerator
from diffprof.prediction.workspace import LARGEST_FUSED_HEAD, convolution_bytes
from diffprof.record.profile import Operation

MIB = 1024**2

CONTEXT_MIB = {
    "maxwell": 250,
    "pascal": 280,
    "volta": 320,
    "turing": 320,
    "ampere": 430,
    "ada": 430,
    "hopper": 540,
    "blackwell": 620,
}
"""The size of the CUDA context by architecture, with the PyTorch kernels that a generation loads."""

OTHER_CONTEXT_MIB = 450

WITHOUT_TF32 = ("maxwell", "pascal", "volta", "turing")

ECC_CARDS = ("t4", "l4", "l20", "l40", "l40s", "a2", "a10", "a10g", "a16", "a40")
"""Cards whose GDDR memory stores its ECC bits in itself, with ECC on by default."""

ECC_SHARE = 0.93
USABLE_SHARE = 0.992
DRIVER_MIB = 160
"""The usable share of a card's memory, and the fixed amount that the driver reserves. It
leaves 7.8 of 8 GiB on an RTX 3070, 23.65 of 24 on an RTX 4090, 79.2 of 80 on an H100, 14.6 of 16 on a T4, 22.0 of 24
on an L4 (``torch.cuda.get_device_properties``)."""

MATRIX_WORKSPACE_BYTES = 8519680
HOPPER_MATRIX_WORKSPACE_BYTES = 33554432
"""cuBLAS, as PyTorch sets it: 4096 KiB twice and 16 KiB eight times; 32 MiB on Hopper and newer."""


@dataclass(frozen=True)
class DeviceMemory:
    """The memory of a device."""

    architecture: str | None = None
    maker: str = "NVIDIA"
    name: str | None = None
    memory_bytes: int | None = None

    @property
    def context_bytes(self) -> int:
        return CONTEXT_MIB.get(self.architecture or "", OTHER_CONTEXT_MIB) * MIB

    @property
    def matrix_workspace_bytes(self) -> int:
        is_new = self.architecture in ("hopper", "blackwell")
        return HOPPER_MATRIX_WORKSPACE_BYTES if is_new else MATRIX_WORKSPACE_BYTES

    @property
    def usable_bytes(self) -> int | None:
        """The memory that all processes can use, including the context."""
        if self.memory_bytes is None:
            return None
        if self.name is None:
            return self.memory_bytes
        if self.name in ECC_CARDS:
            return round(self.memory_bytes * ECC_SHARE)
        return max(0, round(self.memory_bytes * USABLE_SHARE) - DRIVER_MIB * MIB)

    @property
    def capacity_bytes(self) -> int | None:
        """The memory that PyTorch's allocator can use."""
        return None if self.usable_bytes is None else self.usable_bytes - self.context_bytes

    def convolution_bytes(self, operation: Operation) -> int:
        """The workspace of a convolution; none without tensor cores for its dtype, where no layout is converted."""
        is_plain = operation.dtype == "float32" and self.architecture in WITHOUT_TF32
        return 0 if is_plain else convolution_bytes(operation)

    def has_fused_attention(self, operation: Operation) -> bool:
        """Whether attention has a fused kernel; NVIDIA's supports any head size, AMD's do not."""
        return self.maker == "NVIDIA" or operation.shapes.inputs[0][-1] <= LARGEST_FUSED_HEAD


def device_memory(accelerator: Accelerator | None, memory_bytes: int | None = None) -> DeviceMemory:
    """The memory of an accelerator, or of an unknown device with a given capacity."""
    if accelerator is None:
        return DeviceMemory(memory_bytes=memory_bytes)
    return DeviceMemory(
        accelerator.architecture.split("-")[0].split(" ")[0].lower(),
        accelerator.maker,
        accelerator.name,
        accelerator.memory_bytes,
    )
