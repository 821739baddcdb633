"""The guides' profiling module: their names, their tables, and nothing that needs torch."""

from __future__ import annotations

import inspect
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffprof import profiling
from diffprof.errors import OutputError
from diffprof.profiling import (
    IterationProfiler,
    MemoryTracker,
    PyTorchProfiler,
    TimingStats,
    get_global_stats,
    profile_function,
    profile_section,
)
from diffprof.render.numbers import duration, mebibytes, shorten
from diffprof.runtime.timing.memory_snapshots import ProcessMemory
from diffprof.runtime.timing.sections import SectionRecorder
from tests.children import run_child
from tests.runtime.timing.fakes import FakeAccelerator, FakeAllocator, FakeClock, timer_of
from tests.runtime.timing.test_memory_log import GUIDE, log_of

Golden = Callable[[str, str], None]


@pytest.fixture(autouse=True)
def own_stats() -> Iterator[None]:
    profiling.reset()
    yield
    profiling.enable()
    profiling.reset()


def the_guides_stats() -> TimingStats:
    stats = TimingStats()
    for name, count, first, other in (
        ("transformer_forward", 150, 0.072, 0.048),
        ("image_encoder_forward", 1, 2.103, 0),
        ("vae_decode", 12, 4.521, 3.102),
        ("text_encoder_forward", 2, 6.1, 6.356),
        ("generate/tokenize", 3, 0.000_012_3, 0.000_004),
        ("generate/" + "nested/" * 9 + "end", 2000, 0.000_5, 0.001_25),
    ):
        stats.record(name, first)
        for _ in range(count - 1):
            stats.record(name, other)
    return stats


def test_the_names_of_the_guides_are_there() -> None:
    assert {
        *("profile_section", "profile_function", "get_global_stats"),
        *("TimingStats", "MemoryTracker", "IterationProfiler", "PyTorchProfiler"),
    } <= set(profiling.__all__)


def test_torch_is_not_imported() -> None:
    code = """
import sys
from diffprof.profiling import MemoryTracker, get_global_stats, profile_section

with profile_section("work", sync=True):
    pass
get_global_stats().summary()
MemoryTracker().snapshot("start")
assert not {"torch", "numpy", "diffusers"} & set(sys.modules)
"""
    run_child("-c", code)


def test_sections_and_functions_are_in_the_global_stats() -> None:
    @profile_function("encode")
    def encode(text: str) -> int:
        with profile_section("tokenize"):
            return len(text)

    with profile_section("generate"):
        assert encode("a cat") == 5
    assert set(get_global_stats().get_all_stats()) == {"generate", "generate/encode", "generate/encode/tokenize"}
    assert get_global_stats().get_stats("tokenize")["count"] == 1
    assert get_global_stats() is get_global_stats()


def test_a_function_can_be_decorated_in_three_ways() -> None:
    @profile_function
    def first(value: int) -> int:
        return value

    @profile_function()
    def second() -> int:
        return 2

    @profile_function("third")
    def other(*, flag: bool = False) -> bool:
        return flag

    assert (first(1), second(), other(flag=True)) == (1, 2, True)
    assert str(inspect.signature(other)) == "(*, flag: 'bool' = False) -> 'bool'"
    assert set(get_global_stats().get_all_stats()) == {"first", "second", "third"}


def test_disabled_records_nothing_and_enabled_goes_on() -> None:
    profiling.disable()
    assert not profiling.is_enabled()
    with profile_section("off"):
        pass
    profiling.enable()
    with profile_section("on"):
        pass
    assert set(get_global_stats().get_all_stats()) == {"on"}


def test_the_timing_table_looks_as_in_the_guide(golden: Golden, capsys: pytest.CaptureFixture[str]) -> None:
    the_guides_stats().print_summary()
    golden("timings.txt", capsys.readouterr().out)


def test_only_the_longest_are_shown_and_the_others_counted(golden: Golden) -> None:
    golden("timings-top-2.txt", the_guides_stats().summary(top_n=2))
    assert "with less time" not in the_guides_stats().summary(top_n=None)


def test_an_empty_summary_says_so(golden: Golden) -> None:
    golden("timings-nothing.txt", TimingStats().summary())


def test_device_times_and_failures_are_shown(golden: Golden) -> None:
    clock, gpu, stats = FakeClock(), FakeAccelerator(), TimingStats()
    recorder = SectionRecorder(stats, clock, timer_of(gpu))
    stats.record("load", 5.0)
    for _ in range(2):
        with recorder.section("transformer_forward"):
            clock.pass_milliseconds(20)
            gpu.launch(4000)
    with pytest.raises(KeyError), recorder.section("broken\x1b[31m"):
        raise KeyError
    golden("timings-device.txt", stats.summary())


def test_a_terminal_that_lacks_letters_shows_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    stats = TimingStats()
    stats.record("décodage", 1.0)
    stats.print_summary()
    terminal.flush()
    assert "d?codage" in terminal.buffer.getvalue().decode()  # type: ignore[attr-defined]


def test_the_memory_table_looks_as_in_the_guide(golden: Golden) -> None:
    tracker = MemoryTracker()
    tracker.snapshots = log_of(GUIDE).snapshots
    golden("memory-device.txt", tracker.summary())


def test_without_a_device_the_memory_table_has_the_columns_of_the_process(
    golden: Golden, capsys: pytest.CaptureFixture[str]
) -> None:
    resident = iter([ProcessMemory(100 * 1024**2, 150 * 1024**2), ProcessMemory(800 * 1024**2, 900 * 1024**2)])
    tracker = MemoryTracker(FakeAllocator(present=False), lambda: next(resident), FakeClock())
    tracker.snapshot("before_model_load")
    tracker.snapshot("after_model_load")
    tracker.print_summary()
    golden("memory-process.txt", capsys.readouterr().out)


def test_a_device_that_came_into_use_later_has_no_earlier_memory(golden: Golden) -> None:
    allocator = FakeAllocator(present=False)
    tracker = MemoryTracker(allocator, lambda: ProcessMemory(1024**2, 1024**2), FakeClock())
    tracker.snapshot("start")
    allocator.present = True
    for allocated in (100, 200, 300):
        allocator.now(allocated, allocated)
        tracker.snapshot("step")
    golden("memory-later.txt", tracker.summary())


def test_an_empty_memory_log_says_so(golden: Golden) -> None:
    golden("memory-nothing.txt", MemoryTracker().summary())


def test_the_memory_log_is_written_in_one_go(tmp_path: Path) -> None:
    tracker = MemoryTracker()
    tracker.snapshot("start")
    path = tracker.export_json(tmp_path / "memory_log.json")
    assert json.loads(path.read_bytes()) == tracker.to_dict()
    assert tracker.snapshots[0].rss_bytes > 0
    with pytest.raises(OutputError, match="Cannot write"):
        tracker.export_json(tmp_path / "missing" / "memory_log.json")


def test_the_iteration_table_shows_the_warm_up_apart(golden: Golden, capsys: pytest.CaptureFixture[str]) -> None:
    clock = FakeClock()
    steps = IterationProfiler("denoising_steps", warmup=1, clock=clock, device=timer_of(None))
    for milliseconds in (1250, 50, 55, 60):
        with steps.iteration():
            clock.pass_milliseconds(milliseconds)
    steps.print_summary()
    golden("iterations.txt", capsys.readouterr().out)


def test_iterations_without_warm_up_with_a_device_and_a_failure(golden: Golden) -> None:
    clock, gpu = FakeClock(), FakeAccelerator()
    steps = IterationProfiler("steps", clock=clock, device=timer_of(gpu))
    for milliseconds in (1, 2):
        with steps.iteration():
            clock.pass_milliseconds(milliseconds)
            gpu.launch(70 * milliseconds)
    with pytest.raises(KeyError), steps.iteration():
        raise KeyError
    golden("iterations-device.txt", steps.summary())


def test_a_loop_without_iterations_says_so() -> None:
    assert "no iteration was timed" in IterationProfiler("steps").summary()


def test_a_trace_is_written_where_the_guide_says(tmp_path: Path) -> None:
    import torch

    profiler = PyTorchProfiler(output_dir=str(tmp_path / "results"), record_shapes=True, profile_memory=True)
    with profiler.profile("my_trace"), profile_section("vae_decode"):
        torch.ones(3).sum()
    data: dict[str, Any] = json.loads((tmp_path / "results" / "my_trace.json").read_bytes())
    assert "vae_decode" in {event["name"] for event in data["traceEvents"]}


@pytest.mark.parametrize(("seconds", "text"), [
    (0, "0s"), (45.2341, "45.234s"), (0.055, "0.055s"), (1234.5, "1,234.500s"), (0.00421, "4.210ms"),
    (0.0000123, "12.3us"), (4e-9, "0.004us"), (0.0099999, "10.000ms"),
])  # fmt: skip
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@settings(deadline=None)
@given(st.floats(1e-9, 1e6))
def test_a_time_above_zero_never_reads_as_zero(seconds: float) -> None:
    figure = duration(seconds).rstrip("mus").replace(",", "")
    assert float(figure) > 0
    assert len(duration(seconds)) <= 14


def test_memory_and_long_names_read_well() -> None:
    assert (mebibytes(1_074_266_112), mebibytes(0)) == ("1024.5M", "0.0M")
    assert shorten("generate/transformer/attention", 20) == "...sformer/attention"
    assert len(shorten("x" * 99, 20)) == 20
