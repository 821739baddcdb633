"""Threads share the models: each is loaded once, used by one at a time, and nobody waits forever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diffprof.errors import DiffprofError, RequestError
from diffprof.generation import locks
from diffprof.generation.locks import pipeline_lock
from diffprof.generation.models import ModelManager, get_model_manager, release_memory
from tests.generation.test_models import loads, manager, names, one, size_of, three, two

__all__ = ["loads", "manager", "one", "three", "two"]


def test_there_is_one_manager_in_a_process() -> None:
    found: list[ModelManager] = []
    threads = [threading.Thread(target=lambda: found.append(get_model_manager())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {id(one) for one in found} == {id(get_model_manager())}


def test_loading_inside_using_fails_instead_of_deadlocking(one: Path, two: Path, manager: ModelManager) -> None:
    limited = ModelManager(device="cpu", memory_limit=size_of(manager, one) + 1)
    with (
        limited.using(one),
        pytest.raises(DiffprofError, match="no memory left for two: the models in use fill"),
    ):
        limited.load_model(two)
    limited.load_model(two)
    assert names(limited) == ["two"]


def sign_of_waiting(manager: ModelManager, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set as soon as a thread waits for the room that others have."""
    real, waits = manager._wait_for_others, threading.Event()

    def wait(*given: Any) -> None:
        waits.set()
        real(*given)

    monkeypatch.setattr(manager, "_wait_for_others", wait)
    return waits


def test_a_thread_waits_for_free_memory_until_another_is_done(
    one: Path, two: Path, manager: ModelManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = ModelManager(device="cpu", memory_limit=size_of(manager, one) + 1)
    waits = sign_of_waiting(limited, monkeypatch)
    waiting = threading.Thread(target=lambda: limited.load_model(two))
    with limited.using(one):
        waiting.start()
        assert waits.wait(timeout=600)
        assert names(limited) == ["one"]
    waiting.join(timeout=600)
    assert names(limited) == ["two"]


def test_who_uses_a_model_does_not_wait_for_one_who_waits_for_it(
    one: Path, two: Path, three: Path, manager: ModelManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = ModelManager(device="cpu", memory_limit=size_of(manager, one) + 1)
    waits = sign_of_waiting(limited, monkeypatch)
    waiting = threading.Thread(target=lambda: limited.load_model(two))
    with limited.using(one):
        waiting.start()
        assert waits.wait(timeout=600)
        with pytest.raises(DiffprofError, match="there is no memory left for three"):
            limited.load_model(three)
    waiting.join(timeout=600)
    assert names(limited) == ["two"]


def test_a_waiting_thread_continues_when_a_model_in_use_is_unloaded(
    one: Path, two: Path, manager: ModelManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = ModelManager(device="cpu", memory_limit=size_of(manager, one) + 1)
    sleeps = threading.Event()
    real = limited._changed.wait_for

    def wait_for(awaited: Callable[[], bool]) -> bool:
        sleeps.set()  # whoever has the lock next can be sure that the other waits
        return real(awaited)

    monkeypatch.setattr(limited._changed, "wait_for", wait_for)
    waiting = threading.Thread(target=lambda: limited.load_model(two), daemon=True)
    with limited.using(one):
        waiting.start()
        assert sleeps.wait(timeout=600)
        limited.unload_model(one)
        waiting.join(timeout=600)
        assert not waiting.is_alive()
        assert names(limited) == ["two"]


def test_eight_threads_load_it_once_and_use_it_one_at_a_time(
    manager: ModelManager, one: Path, loads: list[str]
) -> None:
    inside: list[int] = []
    crowd: list[int] = []
    barrier = threading.Barrier(8)

    def use() -> None:
        barrier.wait()
        with manager.using(one):
            inside.append(1)
            crowd.append(len(inside))
            inside.pop()

    in_threads(8, use)
    assert loads == ["one"]
    assert crowd == [1] * 8


def test_two_threads_that_nest_two_models_in_opposite_order_do_not_wait_for_each_other(
    manager: ModelManager, one: Path, two: Path
) -> None:
    for model in (one, two):
        manager.load_model(model)
    orders, both, ended = iter([(one, two), (two, one)]), threading.Barrier(2), []

    def use() -> None:
        outer, inner = next(orders)
        try:
            with manager.using(outer):
                both.wait(60)
                with manager.using(inner):
                    ended.append("used both")
        except RequestError as error:
            ended.append(str(error))

    in_threads(2, use)
    refused, used = sorted(ended)
    assert "use the models in the same order in every thread" in refused
    assert used == "used both"
    with manager.using(one), manager.using(two):
        pass


def test_a_lock_belongs_to_a_pipeline_and_goes_with_it(one: Path, manager: ModelManager) -> None:
    pipeline = manager.load_model(one)
    assert pipeline_lock(pipeline) is pipeline_lock(pipeline)
    before = len(locks._LOCKS)
    manager.unload_model(one)
    del pipeline
    release_memory()
    assert len(locks._LOCKS) == before - 1


def in_threads(count: int, work: Callable[[], None]) -> None:
    problems: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  a thread of its own tells nobody
            problems.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems
