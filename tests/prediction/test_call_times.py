"""The device's and the host's part of a call."""

from __future__ import annotations

import numpy as np
import pytest

from diffprof.prediction.call_times import PIPELINE, call_times, smooth_maximum
from diffprof.prediction.device import DeviceModel
from diffprof.prediction.load_table import load_table
from diffprof.prediction.workload import MEMORY, VIEW, CallLoads, Loads, Workload
from tests.prediction.samples import load_like, plain_device, workload_of_loads


def host_seconds(workload: Workload, device: DeviceModel, **options: float | bool) -> list[float]:
    return call_times(workload, load_table(workload), device, **options).host.tolist()  # type: ignore[arg-type]


def test_a_smooth_maximum_is_the_larger_one_and_a_little_more_where_both_are_alike() -> None:
    both = smooth_maximum(np.array([3.0, 2.0]), np.array([0.0, 2.0]))
    assert both.tolist() == pytest.approx([3.0, 2 * 2**0.25])


def test_the_host_launches_operations_and_calls_modules() -> None:
    workload = workload_of_loads(load_like(MEMORY, count=5), load_like(VIEW, count=2), module_calls=10)
    assert host_seconds(workload, plain_device()) == [5 + 2 + 10]
    assert host_seconds(workload, plain_device(), host_factor=2.0) == [2 * 17]


def test_a_compiler_takes_the_host_out_of_components_but_not_out_of_the_pipeline() -> None:
    efficiency = plain_device().efficiency
    device = plain_device(efficiency=type(efficiency)(**{**vars(efficiency), "compiled_host_share": 0.25}))
    calls = [CallLoads(name, "forward", 1, False, 0, Loads((load_like(VIEW, count=8),))) for name in ("unet", PIPELINE)]
    assert host_seconds(Workload(tuple(calls), 1), device, compiled=True) == [2, 8]


def test_a_processor_launches_and_computes_in_turn() -> None:
    workload = workload_of_loads(load_like(MEMORY, read_bytes=1000), module_calls=3)
    times = call_times(workload, load_table(workload), plain_device(is_processor=True))
    assert times.total.tolist() == (times.device + times.host).tolist()
    overlapped = call_times(workload, load_table(workload), plain_device())
    assert overlapped.total[0] < overlapped.device[0] + overlapped.host[0]


def test_the_pipeline_runs_while_the_device_still_works() -> None:
    busy = CallLoads("unet", "forward", 1, True, 0, Loads((load_like(MEMORY, read_bytes=100_000),)))
    own = CallLoads(PIPELINE, "call", 1, True, 50, Loads((load_like(VIEW),)))
    together, alone = Workload((busy, own), 1), Workload((own,), 1)
    hidden = call_times(together, load_table(together), plain_device()).total[1]
    assert hidden == 0  # 1000 seconds of the device hide 51 of the host
    assert call_times(alone, load_table(alone), plain_device()).total[0] == pytest.approx(51)
