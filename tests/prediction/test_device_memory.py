"""What a device leaves to PyTorch."""

from __future__ import annotations

from diffprof.catalogue.accelerators import find_accelerator
from diffprof.prediction.device_memory import MIB, DeviceMemory, device_memory
from diffprof.record.profile import Operation, Work
from diffprof.record.tensors import OperationShapes

GIB = 1024**3


def convolution(dtype: str) -> Operation:
    shapes = OperationShapes(((1, 4, 8, 8), (4, 4, 3, 3)), ((1, 4, 8, 8),))
    return Operation("convolution", "convolution", shapes, dtype, 1, Work(1))


def attention(head: int) -> Operation:
    shape = (1, 2, 8, head)
    return Operation("attention", "attention", OperationShapes((shape,) * 3, (shape,)), "float16", 1, Work(1))


def test_the_driver_and_check_bits_take_their_part_of_the_memory() -> None:
    plain, checked = (device_memory(find_accelerator(name)) for name in ("rtx-4090", "l4"))
    assert plain.usable_bytes == round(24 * GIB * 0.992) - 160 * MIB
    assert checked.usable_bytes == round(24 * GIB * 0.93)
    assert plain.capacity_bytes == plain.usable_bytes - 430 * MIB


def test_so_much_memory_on_no_device_in_particular_is_all_usable() -> None:
    device = device_memory(None, 10 * GIB)
    assert device.usable_bytes == 10 * GIB
    assert device.capacity_bytes == 10 * GIB - 450 * MIB
    assert device_memory(None).capacity_bytes is None


def test_cublas_takes_more_from_hopper_on() -> None:
    sizes = {name: DeviceMemory(name).matrix_workspace_bytes for name in ("ada", "hopper", "blackwell")}
    assert sizes == {"ada": 2 * 4096 * 1024 + 8 * 16 * 1024, "hopper": 32 * MIB, "blackwell": 32 * MIB}


def test_convolutions_are_copied_only_where_tensor_cores_do_them() -> None:
    volta, ampere = DeviceMemory("volta"), DeviceMemory("ampere")
    assert volta.convolution_bytes(convolution("float32")) == 0
    assert volta.convolution_bytes(convolution("float16")) > 0
    assert ampere.convolution_bytes(convolution("float32")) == 4 * (256 + 144)


def test_wide_heads_have_a_fused_kernel_on_nvidia_only() -> None:
    amd = DeviceMemory("cdna3", "AMD")
    assert amd.has_fused_attention(attention(256)) and not amd.has_fused_attention(attention(257))
    assert DeviceMemory("hopper").has_fused_attention(attention(512))
