"""Threads take turns with a pipeline, and none waits forever."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.generation.locks import PipelineLock, pipeline_lock

PATIENCE = 600


class Pipeline:
    """Stands for one: it only has to be the key of a dictionary."""


def test_a_pipeline_has_one_lock_that_its_thread_may_take_again() -> None:
    pipeline = Pipeline()
    with pipeline_lock(pipeline) as outer, pipeline_lock(pipeline) as inner:
        assert outer is inner
        assert outer.owner == threading.get_ident()
    assert outer.owner is None
    assert pipeline_lock(Pipeline()) is not outer


def test_threads_take_turns() -> None:
    lock, inside, most = PipelineLock(), [], []

    def work() -> None:
        for _ in range(200):
            with lock:
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert set(most) == {1}
    assert len(most) == 1600


@pytest.mark.parametrize("count", [2, 3])
def test_threads_that_would_wait_for_each_other_are_refused_and_the_others_go_on(count: int) -> None:
    """Each holds one lock and wants the next one of a ring: exactly one is refused, whoever comes last."""
    locks, ready = [PipelineLock() for _ in range(count)], threading.Barrier(count)
    ended: list[Any] = []

    def work(number: int) -> None:
        try:
            with locks[number]:
                ready.wait(PATIENCE)
                with locks[(number + 1) % count]:
                    ended.append("both")
        except RequestError as error:
            ended.append(str(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert ended.count("both") == count - 1
    (refusal,) = [text for text in ended if text != "both"]
    assert "use the models in the same order" in refusal
    assert all(lock.owner is None for lock in locks)
