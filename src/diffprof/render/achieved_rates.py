"""The rates that predictions assume for an accelerator, and the numbers of the time model behind them."""

from __future__ import annotations

from typing import Any, NamedTuple

from diffprof.catalogue.accelerators import Accelerator
from diffprof.catalogue.efficiency import family_of, fitted_numbers
from diffprof.catalogue.efficiency_numbers import NAMES
from diffprof.prediction.device import DeviceModel, device_of
from diffprof.render import numbers

INTERNAL = ("spread", "host_spread")
MEASURED = "measured on this machine"


class AchievedRate(NamedTuple):
    """One number: its name, its value as text, and where it comes from."""

    name: str
    value: str
    source: str


def rate_lines(entry: Accelerator) -> list[AchievedRate]:
    """The assumed rates, then every number of the time model."""
    device = device_of(entry)
    return [*_rates(device), *(AchievedRate(_label(name), *_number(entry, name)) for name in NAMES)]


def rate_values(entry: Accelerator) -> dict[str, Any]:
    """The assumed rates and the numbers of the time model, for JSON."""
    device = device_of(entry)
    return {
        "family": device.family,
        "product_flops_per_second": {dtype: device.product_rate(dtype) for dtype in _dtypes(device)},
        "bandwidth_bytes_per_second": device.effective_bandwidth,
        "power_share": device.power_share,
        "numbers": {
            name: {"value": getattr(device.efficiency, name), "source": _number(entry, name)[1]} for name in NAMES
        },
    }


def _dtypes(device: DeviceModel) -> list[str]:
    return [dtype for dtype in ("float32", "float16", "bfloat16") if device.has(dtype)]


def _rates(device: DeviceModel) -> list[AchievedRate]:
    lines = []
    for dtype in _dtypes(device):
        rate = device.product_rate(dtype)
        value = f"{numbers.flops_per_second(rate)}, {numbers.percent(rate / device.peak(dtype))} of the peak"
        lines.append(AchievedRate(f"large product in {dtype}", value, "from product_share, speed and power"))
    bandwidth = f"{device.effective_bandwidth / 1e9:,.4g} GB/s, {numbers.percent(device.efficiency.bandwidth_share)}"
    lines.append(AchievedRate("bandwidth", bandwidth, "from bandwidth_share"))
    allowed = numbers.percent(device.power_share)
    lines.append(AchievedRate("power allows", f"{allowed} of the peak", "from joules_per_teraflop and the board power"))
    return lines


def _number(entry: Accelerator, name: str) -> tuple[str, str]:
    number = fitted_numbers().number(name, family_of(entry), entry.name)
    if name in entry.measured:
        return f"{entry.measured[name]:.3g}", MEASURED
    return f"{number.value:.3g}", f"{number.source}: {number.meaning}"


def _label(name: str) -> str:
    return name.replace("_", " ")
