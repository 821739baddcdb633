"""Functions of every kind are timed, and otherwise stay what they were."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

import pytest

from diffprof.runtime.timing.functions import time_function
from diffprof.runtime.timing.sections import SectionRecorder
from tests.runtime.timing.fakes import FakeAccelerator, FakeClock, timer_of

Timed = Callable[..., Any]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def recorder(clock: FakeClock) -> SectionRecorder:
    return SectionRecorder(clock=clock, device=timer_of(None))


def totals(recorder: SectionRecorder) -> dict[str, tuple[int, float, int]]:
    found = recorder.timings.get_all_stats()
    return {path: (stats["count"], stats["total"], stats["errors"]) for path, stats in found.items()}


def test_a_function_keeps_its_name_signature_and_result(recorder: SectionRecorder, clock: FakeClock) -> None:
    def scaled(value: int, *, by: int = 2) -> int:
        """Multiply."""
        clock.pass_milliseconds(1)
        return value * by

    timed = time_function(recorder, scaled, "scaling")
    assert (timed(3), timed(3, by=5)) == (6, 15)
    assert timed.__name__ == "scaled" and timed.__doc__ == "Multiply."
    assert inspect.signature(timed) == inspect.signature(scaled)
    assert totals(recorder) == {"scaling": (2, 0.002, 0)}


def test_an_exception_of_a_function_comes_through_and_is_marked(recorder: SectionRecorder) -> None:
    def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        time_function(recorder, fails)()
    assert totals(recorder) == {"fails": (1, 0.0, 1)}


def test_methods_of_all_kinds_are_timed(recorder: SectionRecorder) -> None:
    timed: Callable[[Any], Any] = functools.partial(time_function, recorder)

    class Model:
        factor = 3

        @timed
        def forward(self, value: int) -> int:
            return self.factor * value

        @timed
        @classmethod
        def build(cls) -> int:
            return cls.factor

        @staticmethod
        @timed
        def add(one: int, two: int) -> int:
            return one + two

    model = Model()
    assert (model.forward(2), Model.build(), model.build(), Model.add(1, 2)) == (6, 3, 3, 3)
    assert {path: count for path, (count, _, _) in totals(recorder).items()} == {
        "Model.forward": 1,
        "Model.build": 2,
        "Model.add": 1,
    }


def test_callables_without_a_name_have_that_of_what_they_are(recorder: SectionRecorder) -> None:
    class Model:
        def __call__(self) -> int:
            return 1

    assert time_function(recorder, Model())() == 1
    assert time_function(recorder, functools.partial(max, 1))(2) == 2
    assert set(totals(recorder)) == {"Model", "max"}


def test_functions_that_call_each_other_nest(recorder: SectionRecorder) -> None:
    inner = time_function(recorder, lambda: None, "inner")
    time_function(recorder, lambda: inner(), "outer")()
    assert set(totals(recorder)) == {"outer", "outer/inner"}


def test_coroutines_are_timed_until_they_end_and_stay_coroutines(recorder: SectionRecorder, clock: FakeClock) -> None:
    async def fetch(value: int) -> int:
        clock.pass_milliseconds(1)
        await asyncio.sleep(0)
        return value

    timed = time_function(recorder, fetch)
    assert inspect.iscoroutinefunction(timed)

    async def main() -> list[int]:
        return list(await asyncio.gather(timed(1), timed(2)))

    assert asyncio.run(main()) == [1, 2]
    assert recorder.timings.get_stats("fetch")["count"] == 2


def test_a_generator_is_counted_once_with_the_time_it_ran_itself(recorder: SectionRecorder, clock: FakeClock) -> None:
    def frames(count: int) -> Generator[int, None, str]:
        for number in range(count):
            clock.pass_milliseconds(10)
            yield number
        return "done"

    timed = time_function(recorder, frames)
    assert inspect.isgeneratorfunction(timed)

    def consumer() -> Generator[int, None, str]:
        return (yield from timed(3))

    seen = []
    consumed = consumer()
    with pytest.raises(StopIteration) as ended:
        while True:
            seen.append(next(consumed))
            clock.pass_milliseconds(1000)  # what the consumer does is not the generator's
            with recorder.section("consume"):
                pass
    assert (seen, ended.value.value) == ([0, 1, 2], "done")
    assert totals(recorder) == {"frames": (1, 0.03, 0), "consume": (3, 0.0, 0)}


def test_values_and_exceptions_sent_into_a_generator_arrive(recorder: SectionRecorder) -> None:
    def echo() -> Generator[str, str, str]:
        heard = "nothing"
        while True:
            try:
                heard = yield heard
            except KeyError as error:  # noqa: PERF203  a generator that goes on after what is thrown into it
                heard = f"caught {error}"

    talk = time_function(recorder, echo)()
    assert (next(talk), talk.send("hello"), talk.throw(KeyError("x"))) == ("nothing", "hello", "caught 'x'")
    with pytest.raises(ValueError, match="y"):
        talk.throw(ValueError("y"))
    assert totals(recorder) == {"echo": (1, 0.0, 1)}


def test_closing_a_generator_cleans_up_and_is_not_a_failure(recorder: SectionRecorder) -> None:
    def rows() -> Generator[int, None, None]:
        try:
            yield 1
        finally:
            with recorder.section("clean up"):
                pass

    made = time_function(recorder, rows)()
    next(made)
    made.close()
    assert totals(recorder) == {"rows": (1, 0.0, 0), "rows/clean up": (1, 0.0, 0)}


def test_a_generator_belongs_to_where_it_was_started(recorder: SectionRecorder) -> None:
    def rows() -> Generator[int, None, None]:
        yield 1
        with recorder.section("second"):
            yield 2

    made = time_function(recorder, rows)()
    with recorder.section("start"):
        next(made)
    with recorder.section("elsewhere"):
        list(made)
    assert set(totals(recorder)) == {"start", "start/rows", "start/rows/second", "elsewhere"}


def test_a_section_open_in_a_generator_pauses_with_it(recorder: SectionRecorder) -> None:
    def rows() -> Generator[int, None, None]:
        with recorder.section("all"):
            for number in range(3):
                with recorder.section("row"):
                    yield number

    for _ in time_function(recorder, rows)():
        with recorder.section("consume"):
            pass
    counts = {path: count for path, (count, _, _) in totals(recorder).items()}
    assert counts == {"rows": 1, "rows/all": 1, "rows/all/row": 3, "consume": 3}


def test_a_generator_that_never_ran_is_not_counted(recorder: SectionRecorder) -> None:
    def rows() -> Generator[int, None, None]:
        yield 1

    time_function(recorder, rows)().close()
    assert totals(recorder) == {}


def test_generators_that_take_turns_keep_their_own_nesting(recorder: SectionRecorder, clock: FakeClock) -> None:
    def rows(name: str) -> Generator[str, None, None]:
        for _ in range(2):
            with recorder.section("row"):
                clock.pass_milliseconds(1)
            yield name

    first, second = (time_function(recorder, rows, name)(name) for name in ("first", "second"))
    assert [*map("".join, zip(first, second, strict=True))] == ["firstsecond"] * 2
    assert {path: total for path, (_, total, _) in totals(recorder).items()} == {
        **{"first": 0.002, "first/row": 0.002, "second": 0.002, "second/row": 0.002},
    }


def test_the_device_time_of_a_generator_is_one_sum(clock: FakeClock) -> None:
    gpu = FakeAccelerator()
    recorder = SectionRecorder(clock=clock, device=timer_of(gpu))

    def frames() -> Generator[int, None, None]:
        for number in range(4):
            gpu.launch(5)
            yield number

    for _ in time_function(recorder, frames)():
        gpu.launch(100)
    device = recorder.timings.get_stats("frames")["device"]
    assert (device["count"], device["total"]) == (1, 0.02)


def test_an_asynchronous_generator_is_counted_once_and_stays_one(recorder: SectionRecorder, clock: FakeClock) -> None:
    async def frames(count: int) -> AsyncGenerator[int, int]:
        for number in range(count):
            clock.pass_milliseconds(10)
            await asyncio.sleep(0)
            sent = yield number
            assert sent is None or sent == 7

    timed = time_function(recorder, frames)
    assert inspect.isasyncgenfunction(timed)

    async def consume() -> list[int]:
        seen = []
        async for number in timed(3):
            clock.pass_milliseconds(1000)
            seen.append(number)
        return seen

    async def talk() -> None:
        made = timed(3)
        assert (await made.__anext__(), await made.asend(7)) == (0, 1)
        with pytest.raises(KeyError):
            await made.athrow(KeyError())
        closed = timed(2)
        await closed.__anext__()
        await closed.aclose()

    assert asyncio.run(consume()) == [0, 1, 2]
    assert totals(recorder) == {"frames": (1, 0.03, 0)}
    asyncio.run(talk())
    assert totals(recorder) == {"frames": (3, pytest.approx(0.06), 1)}


def test_while_disabled_functions_of_all_kinds_just_run(recorder: SectionRecorder) -> None:
    def rows() -> Generator[int, None, None]:
        yield 1

    async def frames() -> AsyncGenerator[int, None]:
        yield 2

    async def collect() -> list[int]:
        return [number async for number in time_function(recorder, frames)()]

    recorder.enabled = False
    assert list(time_function(recorder, rows)()) == [1]
    assert asyncio.run(collect()) == [2]
    assert time_function(recorder, lambda: 3)() == 3
    assert totals(recorder) == {}
