"""Context parallelism: split a denoiser's sequence over several devices, which exchange data for attention."""

from __future__ import annotations

from dataclasses import replace

from diffprof.prediction.device import DeviceModel
from diffprof.prediction.workload import ATTENTION, CONVOLUTION, GEMM, CallLoads, Load, Loads, Workload
from diffprof.prediction.workspace import element_bytes

PEER_BYTES_PER_SECOND = {"volta": 150e9, "ampere": 300e9, "hopper": 450e9, "blackwell": 900e9}
"""NVLink bandwidth in one direction, from NVIDIA's datasheets of V100, A100, H100 and B200."""

NVLINK_NAMES = ("sxm", "b200", "b300", "h200", "h20", "h800", "gh200")

REACHED_SHARE = 0.7
"""The share of a link's bandwidth that exchanges of this size achieve."""

MESSAGE_SECONDS = 20e-6
"""The fixed time of each exchange."""

EXCHANGED = 4
"""Tensors that are exchanged for each attention: queries, keys and values before, the result after."""


def share_sequence(workload: Workload, denoisers: frozenset[str], devices: int) -> Workload:
    """The workload of one of several devices: its share of the tokens, and of the heads for attention."""
    if devices == 1:
        return workload
    calls = [
        replace(call, loads=_share_of_loads(call.loads, devices), cost=None) if call.component in denoisers else call
        for call in workload.calls
    ]
    return replace(workload, calls=tuple(calls))


def _share_of_loads(loads: Loads, devices: int) -> Loads:
    return loads.derive(
        ("shared", devices), lambda loads: Loads(_share_of_load(load, devices) for load in loads)
    )  # fmt: skip


def _share_of_load(load: Load, devices: int) -> Load:
    kept = load.weight_bytes
    shared = replace(
        load,
        macs=load.macs // devices,
        other_flops=load.other_flops // devices,
        read_bytes=kept + (load.read_bytes - kept) // devices,
        written_bytes=load.written_bytes // devices,
        strided_bytes=load.strided_bytes // devices,
        elements=-(-load.elements // devices),
    )
    if load.sort == ATTENTION:
        return replace(shared, batch=-(-load.batch // devices))
    return replace(shared, rows=-(-load.rows // devices)) if load.sort in (GEMM, CONVOLUTION) else shared


def exchange_seconds(call: CallLoads, devices: int, device: DeviceModel) -> float:
    """The time that one call of a denoiser waits for other devices; `call` is the share of one device."""
    if devices == 1:
        return 0.0
    seconds = 0.0
    for load in call.loads:
        if load.sort == ATTENTION:
            size = load.batch * (load.rows + load.columns) / 2 * load.inner * element_bytes(load.dtype)
            sent = EXCHANGED * size * (devices - 1) / devices
            seconds += load.count * (sent / peer_rate(device) + EXCHANGED * MESSAGE_SECONDS)
    return seconds


def peer_rate(device: DeviceModel) -> float:
    """Bytes per second between two devices: NVLink if the board has it, else the link to the host."""
    architecture = device.family.split("-")[0]
    has_link = any(name in device.name for name in NVLINK_NAMES) and not device.name.startswith("rtx")
    rate = PEER_BYTES_PER_SECOND.get(architecture, 0.0) if has_link else 0.0
    return REACHED_SHARE * (rate or device.host_link)
