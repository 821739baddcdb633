"""Times by name: what is recorded comes back, from any thread, in bounded memory."""

from __future__ import annotations

import json
import sys
import threading
import tracemalloc

import pytest

from diffprof.errors import RequestError
from diffprof.runtime.timing import statistics
from diffprof.runtime.timing.distributions import KEPT_SAMPLES
from diffprof.runtime.timing.sections import Section, SectionRecorder
from diffprof.runtime.timing.statistics import FURTHER_NAMES, WAITING_SAMPLES, Timings
from tests.runtime.timing.fakes import FakeClock, timer_of

KEYS = {"count", "total", "mean", "min", "max", "median", "std", "p95", "errors"}


def test_the_statistics_of_a_name_are_those_of_its_samples() -> None:
    timings = Timings()
    for seconds in (1.0, 2.0, 3.0, 10.0):
        timings.record("load", seconds)
    stats = timings.get_stats("load")
    assert set(stats) == KEYS
    assert (stats["count"], stats["total"], stats["mean"]) == (4, 16.0, 4.0)
    assert (stats["min"], stats["max"], stats["median"], stats["errors"]) == (1.0, 10.0, 2.5, 0)
    assert stats["std"] == pytest.approx((50 / 3) ** 0.5)
    assert stats["p95"] == pytest.approx(8.95)


def test_all_names_come_with_the_largest_total_first() -> None:
    timings = Timings()
    for name, times, seconds in (("rare", 1, 5.0), ("often", 100, 0.1), ("small", 2, 0.5)):
        for _ in range(times):
            timings.record(name, seconds)
    assert list(timings.get_all_stats()) == ["often", "rare", "small"]


def test_a_bare_name_stands_for_all_paths_that_end_in_it() -> None:
    timings = Timings()
    timings.record("first/decode", 1.0)
    timings.record("second/decode", 3.0)
    timings.record("second/decoder", 100.0)
    assert timings.get_stats("decode")["total"] == 4.0
    assert timings.get_stats("second/decode")["total"] == 3.0
    timings.record("decode", 7.0)
    assert timings.get_stats("decode")["total"] == 7.0


def test_an_unknown_name_is_rejected_with_a_near_one() -> None:
    timings = Timings()
    with pytest.raises(RequestError, match="Nothing has been recorded yet"):
        timings.get_stats("vae_decode")
    timings.record("run/vae_decode", 1.0)
    with pytest.raises(RequestError, match="Did you mean 'vae_decode'"):
        timings.get_stats("vea_decode")


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), 1e300])
def test_an_impossible_time_is_rejected(seconds: float) -> None:
    with pytest.raises(RequestError, match="cannot have taken"):
        Timings().record("load", seconds)


def test_nothing_is_left_after_a_reset() -> None:
    timings = Timings()
    timings.record("load", 1.0)
    timings.reset()
    assert timings.get_all_stats() == {}
    timings.record("load", 2.0)
    assert timings.get_stats("load")["total"] == 2.0


def test_a_reset_forgets_the_names_too_also_inside_an_open_section() -> None:
    recorder = SectionRecorder(device=timer_of(None))
    with recorder.section("run") as run:
        for name in ("a", "b"):
            with recorder.section(name):
                pass
            recorder.timings.reset()
        assert recorder.timings.root.children == {}
        assert isinstance(run, Section) and run.series.children == {}
    assert set(recorder.timings.get_all_stats()) == {"run"}
    with recorder.section("run") as again:
        assert isinstance(again, Section) and not again.series.retired


def test_everything_is_valid_json() -> None:
    timings = Timings()
    timings.record("load", 1.5)
    assert json.loads(json.dumps(timings.to_dict()))["operations"]["load"]["total"] == 1.5


def test_eight_threads_lose_no_sample() -> None:
    timings = Timings()
    each = 3 * WAITING_SAMPLES + 1
    start = threading.Barrier(9)

    def work() -> None:
        start.wait()
        for _ in range(each):
            timings.record("shared", 0.001)

    threads = [threading.Thread(target=work) for _ in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        start.wait()
        seen = [timings.get_all_stats().get("shared", {"count": 0})["count"] for _ in range(20)]
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert seen == sorted(seen)
    stats = timings.get_stats("shared")
    assert (stats["count"], stats["total"]) == (8 * each, 8 * each / 1000)


def test_many_sections_stay_in_bounded_memory_with_exact_sums() -> None:
    clock = FakeClock()
    recorder = SectionRecorder(clock=clock, device=timer_of(None))

    def run(sections: int) -> None:
        for _ in range(sections):
            with recorder.section("step"):
                clock.now += 3

    run(KEPT_SAMPLES + WAITING_SAMPLES)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        run(20_000)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Only samples that are not added up yet may have come: a sample is an integer of at most 36 bytes and its place.
    assert after - before < 64 * WAITING_SAMPLES
    run(100_000 - 20_000 - KEPT_SAMPLES - WAITING_SAMPLES)
    series = recorder.timings.series("step")
    assert len(series.samples) < WAITING_SAMPLES and len(series.host.kept) == KEPT_SAMPLES
    stats = recorder.timings.get_stats("step")
    assert (stats["count"], stats["total"], stats["std"]) == (100_000, 300_000 / 1e9, 0.0)


def test_names_without_end_share_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "MAX_NAMES", 10)
    recorder = SectionRecorder(device=timer_of(None))
    for number in range(100):
        with recorder.section(f"request {number}"):
            pass
    found = recorder.timings.get_all_stats()
    assert len(found) == 11
    assert found[FURTHER_NAMES]["count"] == 90
    assert len(recorder.timings.root.children) == 10
