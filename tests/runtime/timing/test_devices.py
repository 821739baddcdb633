"""Time on an accelerator: known later, in any order, on any stream, and never by waiting in the timed code."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from diffprof.runtime.timing import devices
from diffprof.runtime.timing.devices import SWEEP_AT, TorchAccelerator, TorchSearch
from diffprof.runtime.timing.sections import SectionRecorder
from tests.runtime.timing.fakes import FakeAccelerator, FakeClock, FakeMetal, timer_of


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def gpu() -> FakeAccelerator:
    return FakeAccelerator()


@pytest.fixture
def recorder(clock: FakeClock, gpu: FakeAccelerator) -> SectionRecorder:
    return SectionRecorder(clock=clock, device=timer_of(gpu))


def test_host_and_device_time_are_both_kept(recorder: SectionRecorder, clock: FakeClock, gpu: FakeAccelerator) -> None:
    for milliseconds in (30, 50):
        with recorder.section("decode"):
            clock.pass_milliseconds(1)
            gpu.launch(milliseconds)
    assert gpu.event_waits == gpu.synchronized == 0
    stats = recorder.timings.get_stats("decode")
    assert (stats["total"], stats["device"]["total"]) == (0.002, 0.08)
    assert (stats["device"]["min"], stats["device"]["max"]) == (0.03, 0.05)
    assert "device_unresolved" not in stats


def test_the_timed_code_is_never_made_to_wait(recorder: SectionRecorder, gpu: FakeAccelerator) -> None:
    for _ in range(1000):
        with recorder.section("step"):
            gpu.launch(1)
    assert gpu.event_waits == gpu.synchronized == 0
    assert recorder.device.pending_count == 1000


def test_sync_waits_at_both_ends_so_that_the_host_has_the_whole_time(
    recorder: SectionRecorder, gpu: FakeAccelerator
) -> None:
    gpu.launch(100)
    with recorder.section("decode", sync=True):
        assert gpu.progress == 100
        gpu.launch(7)
    assert gpu.progress == 107
    assert gpu.synchronized == 2
    assert recorder.timings.get_stats("decode")["device"]["total"] == 0.007


def test_outer_sections_have_the_device_time_of_all_within(recorder: SectionRecorder, gpu: FakeAccelerator) -> None:
    with recorder.section("step"):
        for name in ("attention", "mlp"):
            with recorder.section(name):
                gpu.launch(4)
    found = recorder.timings.get_all_stats()
    assert {path: stats["device"]["total"] for path, stats in found.items()} == {
        "step": 0.008,
        "step/attention": 0.004,
        "step/mlp": 0.004,
    }


def test_streams_that_finish_out_of_order_are_resolved_as_they_finish(
    recorder: SectionRecorder, gpu: FakeAccelerator
) -> None:
    gpu.stream = "slow"
    with recorder.section("copy"):
        gpu.launch(1000)
    gpu.stream = "fast"
    for _ in range(SWEEP_AT):
        gpu.progress = gpu.busy_until()
        with recorder.section("compute"):
            gpu.launch(1)
    # The last one may still run; the copy before all of them does.
    assert recorder.device.pending_count <= 3
    assert gpu.event_waits == 0
    assert recorder.timings.series("copy").device.count == 0
    assert recorder.timings.get_stats("copy")["device"]["total"] == 1.0
    assert recorder.timings.get_stats("compute")["device"]["total"] == SWEEP_AT / 1000


def test_events_are_used_again(recorder: SectionRecorder, gpu: FakeAccelerator) -> None:
    for _ in range(100 * SWEEP_AT):
        with recorder.section("step"):
            gpu.launch(1)
        gpu.progress = gpu.busy_until()
    assert len(gpu.made) <= 2 * SWEEP_AT
    assert recorder.timings.get_stats("step")["device"]["count"] == 100 * SWEEP_AT


def test_each_device_has_its_own_events(recorder: SectionRecorder, gpu: FakeAccelerator) -> None:
    for turn in range(4 * SWEEP_AT):
        gpu.device = turn % 2
        with recorder.section("step"):
            gpu.launch(1)
        gpu.progress = gpu.busy_until()
    stats = recorder.timings.get_stats("step")
    assert stats["device"]["count"] == 4 * SWEEP_AT
    assert "device_unresolved" not in stats


def test_a_section_that_changes_devices_has_no_device_time(recorder: SectionRecorder, gpu: FakeAccelerator) -> None:
    with recorder.section("move"):
        gpu.device = 1
    stats = recorder.timings.get_stats("move")
    assert (stats["count"], stats["device_unresolved"]) == (1, 1)
    assert "device" not in stats


def test_a_graph_that_is_captured_has_no_device_time(recorder: SectionRecorder, gpu: FakeAccelerator) -> None:
    gpu.in_capture = True
    with recorder.section("capture"):
        pass
    assert gpu.made == []
    assert recorder.timings.get_stats("capture")["device_unresolved"] == 1


def test_a_graph_that_is_captured_is_not_waited_for_which_would_end_it_with_an_error(
    recorder: SectionRecorder, gpu: FakeAccelerator
) -> None:
    gpu.in_capture = True
    with recorder.section("step", sync=True):
        gpu.launch(1)
    assert gpu.synchronized == 0


def test_a_device_that_fails_does_not_fail_in_the_profiler(recorder: SectionRecorder, gpu: FakeAccelerator) -> None:
    with recorder.section("first"):
        gpu.launch(1)
    gpu.made[0].failing = True
    gpu.broken = True
    with recorder.section("second", sync=True):
        pass
    found = recorder.timings.get_all_stats()
    assert {path: stats["device_unresolved"] for path, stats in found.items()} == {"first": 1, "second": 1}


def test_events_that_never_finish_do_not_accumulate(
    recorder: SectionRecorder, gpu: FakeAccelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "MAX_OUTSTANDING", 100)
    gpu.launch(10)
    for _ in range(1000):
        with recorder.section("step"):
            pass
    assert recorder.device.pending_count <= 2 * 100
    stats = recorder.timings.get_stats("step")
    assert stats["device_unresolved"] + stats["device"]["count"] == 1000
    assert gpu.synchronized == 0


def test_device_times_of_what_was_open_during_a_reset_count_afterwards(
    recorder: SectionRecorder, gpu: FakeAccelerator
) -> None:
    with recorder.section("run"):
        with recorder.section("before"):
            gpu.launch(1)
        recorder.timings.reset()
        gpu.launch(3)
    found = recorder.timings.get_all_stats()
    assert {path: stats["device"]["total"] for path, stats in found.items()} == {"run": 0.004}


class FakeTorch:
    """As much of torch as is asked whether an accelerator is in use."""

    def __init__(self, kind: str | None, **backend: Any) -> None:
        self.accelerator = SimpleNamespace(current_accelerator=lambda: kind and SimpleNamespace(type=kind))
        if kind is not None:
            setattr(self, kind, SimpleNamespace(Event=object, **backend))


def search_accelerator(torch: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, bool]:
    if torch is None:
        monkeypatch.delitem(sys.modules, "torch", raising=False)
    else:
        monkeypatch.setitem(sys.modules, "torch", torch)
    found, settled = TorchSearch()()
    return found is not None, settled


def test_torch_is_not_imported_to_look_for_an_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    assert search_accelerator(None, monkeypatch) == (False, False)
    assert "torch" not in sys.modules


def test_an_accelerator_is_used_once_the_program_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert search_accelerator(SimpleNamespace(), monkeypatch) == (False, False)  # torch is just being imported
    assert search_accelerator(FakeTorch(None), monkeypatch) == (False, True)
    assert search_accelerator(FakeTorch("cuda", is_initialized=lambda: False), monkeypatch) == (False, False)
    assert search_accelerator(FakeTorch("cuda", is_initialized=lambda: True), monkeypatch) == (True, True)
    assert search_accelerator(FakeTorch("xpu", is_initialized=lambda: True), monkeypatch) == (True, True)
    assert search_accelerator(FakeTorch("mps", is_available=lambda: True), monkeypatch) == (True, True)


@pytest.mark.parametrize("attributes", [{}, {"is_available": lambda: True}], ids=["no module", "no events"])
def test_a_device_of_somebodys_own_that_has_no_events_is_not_timed(
    attributes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = FakeTorch(None)
    torch.accelerator.current_accelerator = lambda: SimpleNamespace(type="privateuseone")
    if attributes:
        torch.privateuseone = SimpleNamespace(**attributes)
    assert search_accelerator(torch, monkeypatch) == (False, True)


def test_the_installed_torch_can_be_searched() -> None:
    import torch

    found, settled = TorchSearch()()
    expected = torch.accelerator.current_accelerator() is not None
    assert expected or (found is None and settled)


def test_sections_find_an_accelerator_that_comes_into_use_later(clock: FakeClock) -> None:
    gpu = FakeAccelerator()
    answers = [(None, False), (None, False), (gpu, True)]
    recorder = SectionRecorder(clock=clock, device=devices.DeviceTimer(lambda: answers.pop(0)))
    for _ in range(5):
        with recorder.section("step"):
            gpu.launch(1)
    assert recorder.timings.get_stats("step")["device"]["count"] == 3
    assert answers == []


def test_a_torch_backend_is_read_through_its_own_functions() -> None:
    made: list[bool] = []
    backend = SimpleNamespace(
        Event=lambda enable_timing: made.append(enable_timing),
        current_device=lambda: 3,
        is_current_stream_capturing=lambda: True,
        synchronize=lambda: made.append(False),
    )
    accelerator = TorchAccelerator(backend)
    accelerator.event()
    accelerator.synchronize()
    assert (accelerator.index(), accelerator.is_capturing(), made) == (3, True, [True, False])
    metal = TorchAccelerator(SimpleNamespace())
    assert (metal.index(), metal.is_capturing()) == (0, False)


class StandInCuda:
    """``torch.cuda`` of a machine with three GPUs, of which the program uses the first two."""

    __name__ = "torch.cuda"

    def __init__(self) -> None:
        self.waited: list[Any] = []
        self.recorded: list[str] = []

    def Event(self, enable_timing: bool) -> Any:
        return SimpleNamespace(record=lambda stream=None: self.recorded.append(stream), elapsed_time=lambda end: 2.5)

    def current_stream(self, index: int) -> str:
        return f"stream of {index}"

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 3

    def synchronize(self, index: int | None = None) -> None:
        self.waited.append(index)


def test_an_event_of_a_device_is_recorded_on_its_stream_whichever_is_current() -> None:
    cuda = StandInCuda()
    accelerator = TorchAccelerator(cuda, 1)
    begin, end = accelerator.event(), accelerator.event()
    begin.record()
    end.record()
    accelerator.synchronize()
    assert (cuda.recorded, cuda.waited, accelerator.index()) == (["stream of 1"] * 2, [1], 1)
    assert begin.elapsed_time(end) == 2.5


def test_all_devices_with_a_context_are_waited_for_and_none_is_created(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch._C, "_cuda_hasPrimaryContext", lambda index: index < 2, raising=False)
    cuda = StandInCuda()
    TorchAccelerator(cuda).synchronize()
    assert cuda.waited == [0, 1]


def test_metal_is_not_read_before_the_end_because_reading_waits(clock: FakeClock) -> None:
    metal = FakeAccelerator(reading_waits=True)
    recorder = SectionRecorder(clock=clock, device=timer_of(metal))
    for _ in range(3 * devices.SWEEP_AT):
        with recorder.section("step"):
            metal.launch(1)
        metal.synchronize()
    assert recorder.device.pending_count == 3 * devices.SWEEP_AT
    assert TorchAccelerator(SimpleNamespace(__name__="torch.mps")).reading_waits
    assert not TorchAccelerator(StandInCuda()).reading_waits


def test_an_event_of_metal_is_waited_for_once(clock: FakeClock) -> None:
    metal = FakeMetal()
    timer = devices.DeviceTimer(lambda: (TorchAccelerator(metal), True))
    recorder = SectionRecorder(clock=clock, device=timer)
    for milliseconds in (3, 0, 2):
        with recorder.section("step"):
            metal.launch(milliseconds)
        # A second round would meet events that remember that they have ended.
        assert recorder.timings.get_stats("step")["device"]["count"] >= 1
    device = recorder.timings.get_stats("step")["device"]
    assert (device["count"], device["total"]) == (3, 0.005)
