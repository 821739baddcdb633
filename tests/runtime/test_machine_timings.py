"""How calls are timed, by a clock that a test moves."""

from __future__ import annotations

import time

import pytest
import torch

from diffprof.runtime import machine_timings
from diffprof.runtime.machine_timings import (
    LONGEST_NS,
    MOST_REPEATS,
    REPEATS,
    ROUNDS_NS,
    SHORTEST_NS,
    Timer,
    clock_for,
    rate_in_child,
)


class Clock:
    """Stands still unless something takes time."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def timer(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Timer:
    monkeypatch.setattr(machine_timings, "clock_for", lambda device: clock)
    return Timer(torch.device("cpu"))


def test_a_call_takes_the_shortest_of_several_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, calls = Clock(), []
    long = ROUNDS_NS // REPEATS // 2
    durations = iter([9 * long, 5 * long, *[7 * long, 3 * long] * REPEATS])

    def call() -> None:
        calls.append(1)
        clock.now += next(durations)

    assert timer(clock, monkeypatch).seconds(call) == 3 * long / 1e9
    assert len(calls) == 2 + REPEATS


def test_a_short_call_is_repeated_until_enough_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, calls = Clock(), []

    def call() -> None:
        calls.append(1)
        clock.now += SHORTEST_NS // 10

    assert timer(clock, monkeypatch).seconds(call) == pytest.approx(SHORTEST_NS / 10 / 1e9)
    assert len(calls) == 2 + 10 * MOST_REPEATS


def test_a_short_call_is_timed_as_often_as_outlasts_a_disturbance(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    disturbed = 400_000_000

    def call() -> None:
        clock.now += 24_000_000 if clock.now < disturbed else 8_000

    assert timer(clock, monkeypatch).seconds(call) == pytest.approx(8e-6)


def test_a_call_that_is_slow_is_not_timed_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    def call() -> None:
        clock.now += LONGEST_NS // 2

    assert timer(clock, monkeypatch).seconds(call) == LONGEST_NS / 2 / 1e9
    assert clock.now == 2 * LONGEST_NS


@pytest.mark.parametrize(("place", "waited"), [("cuda", ()), ("cuda:1", (1,)), ("mps:0", ())])
def test_the_device_that_is_timed_is_waited_for_and_not_the_current_one(
    place: str, waited: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = []
    device = torch.device(place)
    monkeypatch.setattr(getattr(torch, device.type), "synchronize", lambda *place: waits.append(place))
    clock = Clock()
    monkeypatch.setattr(machine_timings, "clock_for", lambda device: clock)

    def call() -> None:
        clock.now += ROUNDS_NS // REPEATS + 1

    Timer(device).seconds(call)
    assert set(waits) == {waited} and len(waits) == 2 + REPEATS


def test_a_dtype_that_the_device_does_not_have_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def rate(timer: Timer, dtype: torch.dtype) -> float:
        if dtype == torch.bfloat16:
            raise TypeError("BFloat16 is not supported on MPS\nmore")
        return 1e12

    monkeypatch.setattr(machine_timings, "_product_rate", rate)
    rates, problems = machine_timings._product_rates(Timer(torch.device("mps")))
    assert rates == {"float32": 1e12, "float16": 1e12}
    assert problems == ["products in bfloat16 could not be measured: BFloat16 is not supported on MPS"]


def test_one_thread_is_timed_by_what_the_process_itself_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert clock_for(torch.device("cpu")) is time.process_time_ns
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert clock_for(torch.device("cpu")) is time.perf_counter_ns


@pytest.mark.parametrize(
    ("program", "rate", "reason"),
    [
        ("print(2e11)", 2e11, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", None, "killed by SIGILL"),
        ("raise SystemExit('no such dtype')", None, "no such dtype"),
    ],
    ids=["measured", "killed", "refused"],
)
def test_products_that_end_the_process_are_measured_in_another(program: str, rate: float | None, reason: str) -> None:
    measured, said = rate_in_child("bfloat16", program)
    assert measured == rate
    assert reason in said
