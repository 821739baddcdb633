"""One call of a pipeline while it is under way, with a clock, a device and an allocator that do as they are told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diffprof.record.measured import CacheEvent, Move, Span
from diffprof.runtime.instrumentation.iteration_recorder import IterationRecorder, OtherDevice
from diffprof.runtime.instrumentation.memory_reader import MemoryReader
from diffprof.runtime.instrumentation.weight_moves import _MoveTarget
from diffprof.runtime.timing.devices import DeviceTimer, TorchAccelerator
from tests.runtime.timing.fakes import MILLISECOND, FakeAccelerator, FakeAllocator, FakeClock, FakeMetal, timer_of


def iteration_on(
    clock: FakeClock, accelerator: FakeAccelerator | None = None, allocator: FakeAllocator | None = None
) -> IterationRecorder:
    timer = timer_of(accelerator) if accelerator else None
    if timer is not None:
        timer.search()
    return IterationRecorder(object(), clock, {}, timer, MemoryReader(allocator))


def test_sections_nest_and_know_when_they_ran() -> None:
    clock = FakeClock()
    clock.pass_milliseconds(7)
    iteration = iteration_on(clock)
    outer = iteration.begin("encode_prompt", digest="abc")
    clock.pass_milliseconds(1)
    inner = iteration.begin("text_encoder_forward", "text_encoder")
    assert iteration.in_component
    clock.pass_milliseconds(5)
    iteration.end(inner, failed=False)
    assert not iteration.in_component
    clock.pass_milliseconds(2)
    iteration.end(outer, failed=False)
    record = iteration.close(100, "__call__", None)
    first, second = record.samples
    assert (first.section, first.parent, first.digest, first.component) == ("encode_prompt", None, "abc", None)
    assert (second.section, second.parent, second.component) == ("text_encoder_forward", 0, "text_encoder")
    assert first.span == Span(0, 8 * MILLISECOND)
    assert second.span == Span(MILLISECOND, 5 * MILLISECOND)
    assert record.wall == Span(0, 8 * MILLISECOND)
    assert record.began_ns == 100


def test_a_step_goes_from_the_first_denoiser_to_the_end_of_the_schedulers_step() -> None:
    clock = FakeClock()
    iteration = iteration_on(clock)
    for number in range(2):
        iteration.begin_step()
        control = iteration.begin("controlnet_forward", "controlnet")
        clock.pass_milliseconds(2)
        iteration.end(control, failed=False)
        iteration.begin_step()  # the same step: the scheduler has not made its own yet
        unet = iteration.begin("unet_forward", "unet")
        clock.pass_milliseconds(10)
        iteration.end(unet, failed=False)
        assert iteration.step == number
        scheduler = iteration.begin_scheduler()
        clock.pass_milliseconds(1)
        iteration.end(scheduler, failed=False)
        iteration.end_step("scheduler")
        assert iteration.step is None
        clock.pass_milliseconds(4)  # a callback, say
    record = iteration.close(0, "__call__", None)
    assert [(step.scheduler, step.number) for step in record.steps] == [("scheduler", 0), ("scheduler", 1)]
    assert [step.span for step in record.steps] == [Span(0, 13 * MILLISECOND), Span(17 * MILLISECOND, 13 * MILLISECOND)]
    assert [sample.step for sample in record.samples] == [0, 0, 0, 1, 1, 1]


def test_a_second_scheduler_lengthens_the_step_and_a_cascade_counts_for_each_scheduler() -> None:
    clock = FakeClock()
    iteration = iteration_on(clock)
    for slots in (("scheduler", "audio"), ("prior",), ("scheduler",)):
        iteration.begin_step()
        for slot in slots:
            sample = iteration.begin_scheduler()
            clock.pass_milliseconds(3)
            iteration.end(sample, failed=False)
            iteration.end_step(slot)
    record = iteration.close(0, "__call__", None)
    numbered = [(step.scheduler, step.number) for step in record.steps]
    assert numbered == [("scheduler", 0), ("prior", 0), ("scheduler", 1)]
    assert [step.span.host_ns for step in record.steps] == [6 * MILLISECOND, 3 * MILLISECOND, 3 * MILLISECOND]
    assert [sample.step for sample in record.samples] == [0, 0, 1, 2]


def test_without_a_scheduler_step_no_step_is_recorded() -> None:
    clock = FakeClock()
    iteration = iteration_on(clock)
    iteration.begin_step()
    unet = iteration.begin("unet_forward", "unet")
    iteration.caches.append(CacheEvent("kv", True, iteration.now(), iteration.step))
    iteration.moves.append(Move("unet", "host to device", 4, iteration.now(), 1, iteration.step))
    iteration.end(unet, failed=True)
    record = iteration.close(0, "__call__", "RuntimeError: no")
    assert record.steps == ()
    assert [part.step for part in (*record.samples, *record.caches, *record.moves)] == [None, None, None]
    assert record.samples[0].failed
    assert record.error == "RuntimeError: no"


def test_device_spans_nest_and_start_with_the_iteration_though_the_device_lags_behind_the_host() -> None:
    # GIVEN a device that has 50 ms of earlier work to do
    clock, accelerator = FakeClock(), FakeAccelerator()
    accelerator.launch(50)
    iteration = iteration_on(clock, accelerator)
    # WHEN the host launches 3 + 20 ms of work in two milliseconds
    outer = iteration.begin("encode_prompt")
    accelerator.launch(3)
    inner = iteration.begin("text_encoder_forward", "text_encoder")
    accelerator.launch(20)
    clock.pass_milliseconds(2)
    iteration.end(inner, failed=False)
    iteration.end(outer, failed=False)
    assert accelerator.synchronized == 0, "the device is waited for at the end of a call only"
    record = iteration.close(0, "__call__", None)
    # THEN
    assert accelerator.synchronized == 1
    assert record.samples[0].span == Span(0, 2 * MILLISECOND, 0, 23 * MILLISECOND)
    assert record.samples[1].span == Span(0, 2 * MILLISECOND, 3 * MILLISECOND, 20 * MILLISECOND)
    assert record.wall == Span(0, 2 * MILLISECOND, 0, 23 * MILLISECOND)


def test_events_are_used_again() -> None:
    clock, accelerator = FakeClock(), FakeAccelerator()
    timer = timer_of(accelerator)
    timer.search()
    made = []
    for _ in range(3):
        iteration = IterationRecorder(object(), clock, {}, timer, MemoryReader())
        iteration.end(iteration.begin("unet_forward", "unet"), failed=False)
        iteration.close(0, "__call__", None)
        made.append(len(accelerator.made))
    assert made == [4, 4, 4]


def test_on_metal_every_section_of_every_call_has_its_time() -> None:
    metal, clock = FakeMetal(), FakeClock()
    timer = DeviceTimer(lambda: (TorchAccelerator(metal), True))
    timer.search()
    for _ in range(2):
        iteration = IterationRecorder(object(), clock, {}, timer, MemoryReader())
        for milliseconds in (0, 4):  # the first begins and ends at the moment at which the call began
            sample = iteration.begin("unet_forward", "unet")
            metal.launch(milliseconds)
            iteration.end(sample, failed=False)
        record = iteration.close(0, "__call__", None)
        assert [sample.span.device_ns for sample in record.samples] == [0, 4 * MILLISECOND]
        assert record.wall.device_ns == 4 * MILLISECOND


def test_what_runs_on_another_device_has_no_time_on_the_first_one() -> None:
    accelerator = FakeAccelerator()
    iteration = iteration_on(FakeClock(), accelerator)
    accelerator.device = 1
    iteration.end(iteration.begin("vae_decode", "vae"), failed=False)
    accelerator.device = 0
    record = iteration.close(0, "__call__", None)
    assert record.samples[0].span.device_ns is None
    assert record.wall.device_ns == 0


def test_a_broken_device_leaves_the_hosts_times() -> None:
    clock, accelerator = FakeClock(), FakeAccelerator()
    iteration = iteration_on(clock, accelerator)
    accelerator.broken = True
    sample = iteration.begin("unet_forward", "unet")
    clock.pass_milliseconds(1)
    iteration.end(sample, failed=True)
    record = iteration.close(0, "__call__", "RuntimeError: device-side assert triggered")
    assert record.samples[0].span == Span(0, MILLISECOND)


def test_memory_is_read_at_both_ends_of_a_component_and_its_peak_is_that_of_the_call() -> None:
    mebibyte = 1024**2
    allocator = FakeAllocator(allocated=100, reserved=200, peak=900)
    iteration = iteration_on(FakeClock(), None, allocator)
    sample = iteration.begin("vae_decode", "vae")
    allocator.now(allocated=150, reserved=600, peak=500)
    iteration.end(sample, failed=False)
    record = iteration.close(0, "__call__", None)
    labels = [(point.label, point.sample, (point.peak_allocated_bytes or 0) // mebibyte) for point in record.memory]
    assert labels == [
        ("start", None, 900), ("vae_decode begins", 0, 100), ("vae_decode ends", 0, 500), ("end", None, 150),
    ]  # fmt: skip
    assert all(0 < point.rss_bytes <= point.peak_rss_bytes for point in record.memory)


def test_without_a_device_there_is_no_device_time() -> None:
    record = iteration_on(FakeClock()).close(0, "__call__", None)
    assert [(point.allocated_bytes, point.peak_allocated_bytes) for point in record.memory] == [(None, None)] * 2
    assert record.wall.device_ns is None


def test_a_component_on_another_device_is_timed_there_and_all_devices_are_waited_for() -> None:
    clock, first, second = FakeClock(), FakeAccelerator(), FakeAccelerator(device=1)
    timers = [timer_of(first), timer_of(second)]
    for timer in timers:
        timer.search()
    allocator, other = FakeAllocator(), FakeAllocator()
    other.now(3, 4)
    iteration = IterationRecorder(
        object(), clock, {}, timers[0], MemoryReader(allocator, {"cuda:1": other}),
        {"vae": OtherDevice("cuda:1", timers[1])},
    )  # fmt: skip
    unet = iteration.begin("unet_forward", "unet")
    first.launch(10)
    iteration.end(unet, failed=False)
    vae = iteration.begin("vae_decode", "vae")
    second.launch(25)
    iteration.end(vae, failed=False)
    record = iteration.close(0, "__call__", None)
    assert [(sample.span.device_ns, sample.device) for sample in record.samples] == [
        (10 * MILLISECOND, None),
        (25 * MILLISECOND, "cuda:1"),
    ]
    assert record.wall.device_ns == 25 * MILLISECOND
    assert (first.synchronized, second.synchronized) == (1, 1)
    assert {point.device for point in record.device_memory} == {"cuda:1"}
    assert len(record.device_memory) == len(record.memory)
    assert record.device_memory[0].allocated_bytes == 3 * 1024**2
    assert len(second.made) == 4, "begin and end of the call, begin and end of the section"
    IterationRecorder(object(), clock, {}, timers[0], MemoryReader(), {"vae": OtherDevice("cuda:1", timers[1])})
    assert len(second.made) == 4, "events are used again"


def test_a_copy_is_timed_without_the_work_that_it_waited_for() -> None:
    clock, accelerator = FakeClock(), FakeAccelerator()
    iteration = iteration_on(clock, accelerator)
    accelerator.launch(50)
    begin = iteration.mark("unet")
    accelerator.launch(3)
    clock.pass_milliseconds(53)
    move = Move("unet", "host to device", 7, 0, 53 * MILLISECOND)
    iteration.add_move(move, (begin, iteration.mark("unet")))
    iteration.add_move(move, None)
    first, second = iteration.close(0, "__call__", None).moves
    assert (first.host_ns, first.device_ns) == (53 * MILLISECOND, 3 * MILLISECOND)
    assert second.device_ns is None


@pytest.mark.parametrize(("hidden", "device_ns"), [(False, 3 * MILLISECOND), (None, 3 * MILLISECOND), (True, None)])
def test_events_are_put_around_a_move_that_is_not_on_a_stream_of_its_own(
    hidden: bool | None, device_ns: int | None
) -> None:
    clock, accelerator = FakeClock(), FakeAccelerator()
    iteration = iteration_on(clock, accelerator)
    target = _MoveTarget(iteration, "unet")
    accelerator.launch(50)
    began = target.begin()
    accelerator.launch(3)
    weight: Any = SimpleNamespace(device=torch.device("cuda", 0), nbytes=7)
    target.end(began, [("cpu", weight)], hidden)
    (move,) = iteration.close(0, "__call__", None).moves
    assert (move.moved_bytes, move.device_ns) == (7, device_ns)


def test_an_event_is_not_timed_against_itself() -> None:
    accelerator = FakeAccelerator()
    iteration = iteration_on(FakeClock(), accelerator)
    (begin,) = accelerator.made
    begin.failing = True
    assert iteration._on_device(iteration._wall.began_mark) == 0
