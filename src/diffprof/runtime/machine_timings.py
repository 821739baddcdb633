"""Time small computations on a device: products, convolutions, attention, memory, launches."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from diffprof.errors import first_line

REPEATS, MOST_REPEATS = 7, 100
"""Rounds of which the shortest counts: many short ones, because other programs do not disturb all of them."""
SHORTEST_NS = 1_000_000
"""A call is repeated until this much time has passed, which is a round."""
ROUNDS_NS, LONGEST_NS = 600_000_000, 2_000_000_000
"""The time of all rounds, and of few: next to other programs, threads can wait for each other for half a second."""

LARGEST_PRODUCT = {"cpu": 1024}
LARGE_PRODUCT = 8192
HEAD_SIZE = 128
"""Of the attention that is timed on an accelerator."""

BATCH_OF_LAUNCHES = 200


@dataclass(frozen=True)
class MachineTimings:
    """The results of all timings."""

    peaks: dict[str, float]
    """Operations per second of the largest matrix product, by dtype."""
    convolution_rate: float
    """Operations per second; this and the rates below are in the device's usual dtype."""
    attention_rate: float
    masked_attention_rate: float
    bytes_per_second: float
    cached_bytes_per_second: float
    strided_bytes_per_second: float
    scattered_elements_per_second: float
    norm_elements_per_second: float
    host_bytes_per_second: float | None
    """Bandwidth from pinned memory; None on a CPU."""
    operation_seconds: float
    view_seconds: float
    module_seconds: float
    kernel_seconds: float
    """The fixed time of a product of any size."""
    not_measured: tuple[str, ...] = ()
    """Sentences about what could not be measured."""


def time_machine(device: torch.device, dtype: torch.dtype, progress: Callable[[str], None]) -> MachineTimings:
    """Run all timings, which takes at most two minutes."""
    timer = Timer(device)
    progress("matrix products")
    peaks, not_measured = _product_rates(timer)
    if device.type == "cpu":
        rate, reason = rate_in_child("bfloat16")
        peaks |= {"bfloat16": rate} if rate else {}
        not_measured += [f"products in bfloat16 could not be measured: {reason}"] if reason else []
    progress("convolutions and attention")
    convolution = _convolution_rate(timer, dtype)
    attention, masked = _attention_rates(timer, dtype)
    progress("memory")
    plain, cached, strided, scattered, norm = _memory_rates(timer, dtype)
    progress("launches")
    operation, view, module, kernel = _launches(timer, dtype)
    host = _host_rate(timer) if device.type != "cpu" else None
    return MachineTimings(
        peaks, convolution, attention, masked, plain, cached, strided, scattered, norm, host, operation, view, module,
        kernel, tuple(not_measured),
    )  # fmt: skip


class Timer:
    """Times calls on a device: the shortest of several, including waiting for the device."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._clock = clock_for(device)
        self._backend: Any = getattr(torch, device.type, None)

    def seconds(self, call: Callable[[], Any]) -> float:
        """Seconds of one call."""
        call()
        self._wait()
        times = max(1, SHORTEST_NS // max(1, self._round(call, 1)))
        rounds: list[int] = []
        while len(rounds) < MOST_REPEATS and sum(rounds) < (ROUNDS_NS if len(rounds) >= REPEATS else LONGEST_NS):
            rounds.append(self._round(call, times))
        return min(rounds) / times / 1e9

    def _round(self, call: Callable[[], Any], times: int) -> int:
        """Nanoseconds of this many calls."""
        started = self._clock()
        for _ in range(times):
            call()
        self._wait()
        return self._clock() - started

    def _wait(self) -> None:
        if self.device.type != "cpu" and self._backend is not None:
            # With its index, because it may not be the current device; Metal has one device and takes no index.
            place = () if self.device.index is None or self.device.type == "mps" else (self.device.index,)
            self._backend.synchronize(*place)

    def tensor(self, *shape: int, dtype: torch.dtype) -> torch.Tensor:
        return torch.randn(*shape, device=self.device).to(dtype)


def clock_for(device: torch.device) -> Callable[[], int]:
    """A clock in nanoseconds; with one CPU thread, CPU time, which other processes do not affect."""
    is_alone = device.type == "cpu" and torch.get_num_threads() == 1
    return time.process_time_ns if is_alone else time.perf_counter_ns


def _dtypes(device: torch.device) -> tuple[torch.dtype, ...]:
    return (torch.float32,) if device.type == "cpu" else (torch.float32, torch.float16, torch.bfloat16)


def _product_rates(timer: Timer) -> tuple[dict[str, float], list[str]]:
    """Operations per second by dtype, and sentences about dtypes that could not be measured."""
    rates, not_measured = {}, []
    for dtype in _dtypes(timer.device):
        name = str(dtype).removeprefix("torch.")
        try:
            rates[name] = _product_rate(timer, dtype)
        except (RuntimeError, TypeError) as error:
            not_measured.append(f"products in {name} could not be measured: {first_line(error)}")
    return rates, not_measured


def _product_rate(timer: Timer, dtype: torch.dtype) -> float:
    size = LARGEST_PRODUCT.get(timer.device.type, LARGE_PRODUCT if dtype != torch.float32 else LARGE_PRODUCT // 2)
    a, b = timer.tensor(size, size, dtype=dtype), timer.tensor(size, size, dtype=dtype)
    return 2 * size**3 / timer.seconds(lambda: a @ b)


CHILD = """
import sys, torch
from diffprof.runtime.machine_timings import Timer, _product_rate
torch.set_num_threads(int(sys.argv[2]))
print(_product_rate(Timer(torch.device("cpu")), getattr(torch, sys.argv[1])))
"""
LONGEST_CHILD_SECONDS = 120


def rate_in_child(dtype: str, program: str = CHILD) -> tuple[float | None, str]:
    """Operations per second of a product on the CPU, or the reason if that fails.

    Runs in a separate process, because a CPU that reports instructions it does not support kills it.
    """
    command = [sys.executable, "-c", program, dtype, str(torch.get_num_threads())]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_CHILD_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, f"it took more than {LONGEST_CHILD_SECONDS} seconds"
    if ended.returncode < 0:
        return None, f"the process was killed by {signal.Signals(-ended.returncode).name}"
    try:
        return float(ended.stdout), ""
    except ValueError:
        return None, ended.stderr.strip().rpartition("\n")[2] or "the process printed nothing"


def _convolution_rate(timer: Timer, dtype: torch.dtype) -> float:
    channels, size, batch = (64, 32, 1) if timer.device.type == "cpu" else (320, 64, 8)
    x = timer.tensor(batch, channels, size, size, dtype=dtype)
    weight = timer.tensor(channels, channels, 3, 3, dtype=dtype)
    operations = 2 * batch * size * size * channels * channels * 9
    return operations / timer.seconds(lambda: F.conv2d(x, weight, padding=1))


def _attention_rates(timer: Timer, dtype: torch.dtype) -> tuple[float, float]:
    batch, heads, tokens, width = (1, 8, 512, 64) if timer.device.type == "cpu" else (2, 24, 4096, HEAD_SIZE)
    query, key, value = (timer.tensor(batch, heads, tokens, width, dtype=dtype) for _ in range(3))
    mask = torch.zeros(batch, 1, tokens, tokens, device=timer.device, dtype=dtype)
    operations = 4 * batch * heads * tokens * tokens * width
    plain = timer.seconds(lambda: F.scaled_dot_product_attention(query, key, value))
    masked = timer.seconds(lambda: F.scaled_dot_product_attention(query, key, value, attn_mask=mask))
    return operations / plain, operations / masked


def _memory_rates(timer: Timer, dtype: torch.dtype) -> tuple[float, float, float, float, float]:
    side = 2048 if timer.device.type == "cpu" else 16384
    large = timer.tensor(side, side, dtype=dtype)
    small = timer.tensor(256, 256, dtype=dtype)
    row = timer.tensor(side, dtype=dtype)
    size = large.element_size()
    out, small_out = torch.empty_like(large), torch.empty_like(small)
    plain = 3 * side * side * size / timer.seconds(lambda: torch.add(large, large, out=out)) * 2 / 3
    cached = 2 * 256 * 256 * size / timer.seconds(lambda: torch.add(small, small, out=small_out))
    across = timer.seconds(lambda: torch.add(large, large.t(), out=out))
    strided = side * side * size / max(across - 2 * side * side * size / plain, 1e-9)
    scattered = side * side / timer.seconds(lambda: torch.add(large, row, out=out))
    norm = side * side / timer.seconds(lambda: F.layer_norm(large, (side,)))
    return plain, cached, strided, scattered, norm


def _launches(timer: Timer, dtype: torch.dtype) -> tuple[float, float, float, float]:
    """Host time of an operation, a view and a module call, and the fixed time of a tiny product."""
    small = timer.tensor(8, 8, dtype=dtype)
    weight = timer.tensor(8, 8, dtype=dtype)
    image, kernel = timer.tensor(1, 8, 4, 4, dtype=dtype), timer.tensor(8, 8, 3, 3, dtype=dtype)
    module = torch.nn.Sequential(*(torch.nn.Identity() for _ in range(BATCH_OF_LAUNCHES)))
    operation = timer.seconds(lambda: [small + small for _ in range(BATCH_OF_LAUNCHES)]) / BATCH_OF_LAUNCHES
    view = timer.seconds(lambda: [small.view(64) for _ in range(BATCH_OF_LAUNCHES)]) / BATCH_OF_LAUNCHES
    called = timer.seconds(lambda: module(small)) / BATCH_OF_LAUNCHES
    linear = timer.seconds(lambda: F.linear(small, weight))
    convolution = timer.seconds(lambda: F.conv2d(image, kernel, padding=1))
    return operation, view, called * MODULE_OVERHEAD, max((linear + convolution) / 2 - operation, 1e-9)


MODULE_OVERHEAD = 2.0
"""The cost of a real module call, relative to a module that returns its input."""


def _host_rate(timer: Timer) -> float:
    size = 256 * 1024 * 1024
    host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(size, dtype=torch.uint8, device=timer.device)
    return size / timer.seconds(lambda: there.copy_(host, non_blocking=True))
