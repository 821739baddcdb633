"""A real profile to predict times of, and devices and loads whose times are worked out by hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from diffprof.catalogue.efficiency_numbers import NAMES, Efficiency
from diffprof.prediction.device import DeviceModel
from diffprof.prediction.workload import GEMM, CallLoads, Load, Loads, Workload
from diffprof.record.files import load
from diffprof.record.profile import Profile

FILE = Path(__file__).parent.parent / "record" / "data" / "sd-2.1-base.v2.json.gz"


@cache
def stable_diffusion_profile() -> Profile:
    """Stable Diffusion 2.1 base, counted."""
    return load(FILE)


def plain_device(**changes: Any) -> DeviceModel:
    """A device of round numbers that reaches all of its peaks: 1000 products a second in float16, 100 bytes."""
    figures: dict[str, Any] = {
        "name": "plain", "family": "hopper", "efficiency": Efficiency(**dict.fromkeys(NAMES, 1.0)),
        "multiprocessors": 1, "bandwidth": 100.0, "cache_bytes": 50.0, "peaks": {"float16": 1000.0, "float32": 100.0},
        "power_share": 1.0, "vector_power_share": 1.0, "board_power_watts": None, "host_link": 10.0,
    }  # fmt: skip
    return DeviceModel(**{**figures, **changes})


def load_like(sort: str = GEMM, kind: str = "linear", dtype: str = "float16", **figures: Any) -> Load:
    """A load of one execution that costs nothing but what is given."""
    nothing = {"count": 1, "macs": 0, "other_flops": 0, "read_bytes": 0, "written_bytes": 0}
    return Load(sort, kind, dtype, **{**nothing, **figures})


def workload_of_loads(
    *loads: Load, component: str = "unet", times: float = 1.0, in_loop: bool = True, module_calls: int = 0
) -> Workload:
    """One kind of call with these loads."""
    return Workload((CallLoads(component, "forward", times, in_loop, module_calls, Loads(loads)),), steps=1)
