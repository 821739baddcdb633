"""Sections nest by path, keep apart what runs at the same time, and survive whatever the code inside does."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Generator, Iterator

import pytest

from diffprof.errors import RequestError
from diffprof.runtime.timing import sections
from diffprof.runtime.timing.sections import DISABLED_SECTION, SectionRecorder
from tests.runtime.timing.fakes import FakeClock, timer_of


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def recorder(clock: FakeClock) -> SectionRecorder:
    return SectionRecorder(clock=clock, device=timer_of(None))


@pytest.fixture(autouse=True)
def nothing_stays_open() -> Iterator[None]:
    yield
    assert sections._innermost.get() is None


def counts(recorder: SectionRecorder) -> dict[str, int]:
    return {path: stats["count"] for path, stats in sorted(recorder.timings.get_all_stats().items())}


def test_sections_inside_sections_are_paths_with_their_own_times(recorder: SectionRecorder, clock: FakeClock) -> None:
    with recorder.section("generate"):
        clock.pass_milliseconds(5)
        for _ in range(3):
            with recorder.section("step"):
                clock.pass_milliseconds(10)
                with recorder.section("attention"):
                    clock.pass_milliseconds(1)
    with recorder.section("step"):
        clock.pass_milliseconds(2)
    totals = {path: stats["total"] for path, stats in recorder.timings.get_all_stats().items()}
    assert totals == {"generate": 0.038, "generate/step": 0.033, "generate/step/attention": 0.003, "step": 0.002}


def test_a_section_has_its_own_time(recorder: SectionRecorder, clock: FakeClock) -> None:
    with recorder.section("load") as section:
        clock.pass_milliseconds(1.5)
    assert isinstance(section, sections.Section)
    assert section.seconds == 0.0015


def test_a_section_that_ends_in_an_exception_counts_and_is_marked(recorder: SectionRecorder, clock: FakeClock) -> None:
    with recorder.section("step"):
        clock.pass_milliseconds(1)
    with pytest.raises(KeyError), recorder.section("outer"), recorder.section("step"):
        clock.pass_milliseconds(3)
        raise KeyError
    found = recorder.timings.get_all_stats()
    assert {path: (stats["total"], stats["errors"]) for path, stats in found.items()} == {
        "outer": (0.003, 1),
        "outer/step": (0.003, 1),
        "step": (0.001, 0),
    }


def test_a_disabled_recorder_records_nothing(recorder: SectionRecorder) -> None:
    recorder.enabled = False
    assert recorder.section("step") is DISABLED_SECTION
    with recorder.section("step"):
        pass
    assert recorder.timings.get_all_stats() == {}


def test_a_section_open_when_the_recorder_is_disabled_is_still_counted(recorder: SectionRecorder) -> None:
    with recorder.section("step"):
        recorder.enabled = False
        with recorder.section("inner"):
            pass
    assert counts(recorder) == {"step": 1}


def test_one_section_cannot_be_open_twice_but_used_again(recorder: SectionRecorder) -> None:
    section = recorder.section("step")
    with section, pytest.raises(RequestError, match="open already"), section:
        pass
    with section:
        pass
    assert counts(recorder) == {"step": 2}


def test_a_section_open_during_a_reset_counts_afterwards(recorder: SectionRecorder, clock: FakeClock) -> None:
    for _ in range(2):
        with recorder.section("run"):
            with recorder.section("step"):
                clock.pass_milliseconds(50)
            recorder.timings.reset()
            with recorder.section("step"):
                clock.pass_milliseconds(1)
            recorder.timings.reset()
            for _ in range(2000):
                with recorder.section("step"):
                    clock.pass_milliseconds(1)
        with recorder.section("run"), recorder.section("step"):
            clock.pass_milliseconds(1)
    assert counts(recorder) == {"run": 2, "run/step": 2001}
    assert recorder.timings.get_stats("run/step")["total"] == 2.001


def test_sections_of_two_recorders_do_not_mix(recorder: SectionRecorder) -> None:
    other = SectionRecorder(device=timer_of(None))
    with recorder.section("a"), other.section("x"), recorder.section("b"), other.section("y"):
        pass
    assert counts(recorder) == {"a": 1, "a/b": 1}
    assert counts(other) == {"x": 1, "x/y": 1}


def test_eight_threads_at_once_keep_their_own_nesting(recorder: SectionRecorder) -> None:
    together = threading.Barrier(8)

    def work(number: int) -> None:
        for _ in range(300):
            with recorder.section(f"worker {number}"), recorder.section("shared"):
                pass
        together.wait()
        with recorder.section("all at once"):
            together.wait()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with recorder.section("main thread"):
            threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    expected = {"all at once": 8, "main thread": 1}
    expected |= {f"worker {number}": 300 for number in range(8)}
    expected |= {f"worker {number}/shared": 300 for number in range(8)}
    assert counts(recorder) == expected


def test_tasks_that_take_turns_keep_their_own_nesting(recorder: SectionRecorder, clock: FakeClock) -> None:
    async def work(name: str, turns: int) -> None:
        with recorder.section(name):
            for _ in range(turns):
                with recorder.section("wait"):
                    clock.pass_milliseconds(1)
                    await asyncio.sleep(0)

    async def main() -> None:
        with recorder.section("serve"):
            await asyncio.gather(work("a", 3), work("b", 5), work("c", 2))

    asyncio.run(main())
    assert counts(recorder) == {
        **{"serve": 1, "serve/a": 1, "serve/b": 1, "serve/c": 1},
        **{"serve/a/wait": 3, "serve/b/wait": 5, "serve/c/wait": 2},
    }


def test_a_task_that_outlives_the_section_it_was_started_in_stays_there(recorder: SectionRecorder) -> None:
    async def work(ended: asyncio.Event) -> None:
        await ended.wait()
        for _ in range(2):
            with recorder.section("late"):
                pass

    async def main() -> None:
        ended = asyncio.Event()
        with recorder.section("start"):
            task = asyncio.create_task(work(ended))
            await asyncio.sleep(0)
        ended.set()
        await task

    asyncio.run(main())
    assert counts(recorder) == {"start": 1, "start/late": 2}


def test_a_cancelled_task_is_marked(recorder: SectionRecorder) -> None:
    async def work() -> None:
        with recorder.section("wait"):
            await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert recorder.timings.get_stats("wait")["errors"] == 1


def numbers_in_a_section(recorder: SectionRecorder, name: str) -> Generator[int, None, None]:
    with recorder.section(name):
        yield 1
        yield 2


def test_closing_a_generator_early_is_not_a_failure(recorder: SectionRecorder) -> None:
    numbers = numbers_in_a_section(recorder, "numbers")
    next(numbers)
    numbers.close()
    stats = recorder.timings.get_stats("numbers")
    assert (stats["count"], stats["errors"]) == (1, 0)


def test_generators_that_end_out_of_order_leave_nothing_open(recorder: SectionRecorder) -> None:
    first, second = (numbers_in_a_section(recorder, name) for name in ("first", "second"))
    next(first)
    next(second)
    first.close()
    second.close()
    with recorder.section("after"):
        pass
    assert counts(recorder) == {"after": 1, "first": 1, "first/second": 1}


def test_a_section_that_was_left_early_can_be_used_again(recorder: SectionRecorder) -> None:
    section = recorder.section("outer")
    with section:
        numbers = numbers_in_a_section(recorder, "numbers")
        next(numbers)
    with section, recorder.section("inner"):
        pass
    numbers.close()
    assert counts(recorder)["outer"] == 2
