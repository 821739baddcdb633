"""``timing_summary.txt`` has the guides' tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from diffprof.record.measured import Iteration, Span, StepSpan
from diffprof.render.guides.timing_file import memory_log, timing_text
from tests.sample_iterations import CPU, GPU, iteration_on
from tests.sample_profiles import measured_profile


def test_it_looks_as_it_should(golden: Callable[[str, str], None]) -> None:
    golden("timing-summary-cpu.txt", timing_text(measured_profile()))
    golden("timing-summary-gpu.txt", timing_text(measured_profile(device=GPU)))


def test_the_tables_are_those_of_the_guides() -> None:
    shown = timing_text(measured_profile())
    titles = ("PROFILING SUMMARY", "ITERATION SUMMARY - denoising_steps", "MEMORY USAGE SUMMARY")
    places = [shown.index(title) for title in titles]
    assert places == sorted(places)
    assert shown.index("unet_forward") < shown.index("vae_decode") < shown.index("between sections")


def test_host_times_stand_beside_device_times() -> None:
    launched = iteration_on(GPU)
    samples = tuple(replace(one, span=replace(one.span, host_ns=one.span.host_ns // 2)) for one in launched.samples)
    shown = timing_text(measured_profile(device=GPU, iterations=[replace(launched, samples=samples)]))
    (row,) = [line.split() for line in shown.splitlines() if line.startswith("vae_decode")]
    assert row[2:4] == ["8.000ms", "0.016s"]


def test_each_scheduler_has_its_own_steps() -> None:
    steps = tuple(StepSpan(name, 0, Span(place, 10)) for place, name in enumerate(("prior_scheduler", "scheduler")))
    shown = timing_text(measured_profile(iterations=[Iteration(0, Span(0, 100), steps=steps)]))
    assert "denoising_steps of prior_scheduler" in shown
    assert "denoising_steps of scheduler" in shown


def test_a_run_of_warm_ups_alone_excludes_nothing() -> None:
    assert "warm-up, excluded" not in timing_text(measured_profile(iterations=[iteration_on(CPU, warmup=True)]))
    assert "warm-up, excluded" in timing_text(measured_profile())


def test_unknown_values_are_not_in_the_memory_log() -> None:
    on_cpu, on_gpu = memory_log(measured_profile()), memory_log(measured_profile(device=GPU))
    assert set(on_cpu[0]) == {"label", "rss_bytes", "peak_rss_bytes"}
    assert {"allocated_bytes", "reserved_bytes", "max_allocated_bytes"} < set(on_gpu[0])
    assert on_cpu[0]["label"] == "1 (warm-up): start"
    assert on_cpu[-1]["label"] == "4: end"
