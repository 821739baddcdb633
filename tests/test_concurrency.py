"""Threads, processes, tasks and interrupts: right results or a clear refusal, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest
import torch

import diffprof
from diffprof.pipelines.patching import DRY_RUN_LOCK
from tests.small_pipelines import SMALL_PIPELINES

CALL: dict[str, Any] = {"prompt": "a cat", "num_inference_steps": 2, "height": 32, "width": 32}
PATIENCE = 600


@pytest.fixture(scope="module")
def pipeline() -> Any:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


@pytest.fixture(scope="module")
def macs(pipeline: Any) -> int:
    return diffprof.profile(pipeline, **CALL).total.macs


def image_of(pipeline: Any) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.from_numpy(pipeline(**CALL, generator=generator, output_type="np").images)


def has_nothing_left() -> bool:
    """Whether torch is as it was before a count, in this thread."""
    dispatch = torch.utils._python_dispatch._get_current_dispatch_mode()
    return dispatch is None and torch.overrides._get_current_function_mode() is None


def test_eight_threads_that_profile_at_once_get_the_same_integers(pipeline: Any, macs: int) -> None:
    before = image_of(pipeline)
    others = [SMALL_PIPELINES["stable-diffusion"].build() for _ in range(2)]
    together = threading.Barrier(8)

    def count(number: int) -> tuple[int, bool]:
        together.wait(PATIENCE)
        profile = diffprof.profile((pipeline, *others)[number % 3], **CALL)
        return profile.total.macs, has_nothing_left()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, range(8))) == [(macs, True)] * 8
    assert torch.equal(image_of(pipeline), before)


def test_one_thread_measures_while_another_profiles(pipeline: Any, macs: int) -> None:
    other = SMALL_PIPELINES["stable-diffusion"].build()
    with ThreadPoolExecutor(2) as pool:
        measuring = pool.submit(lambda: diffprof.measure(other, warmup=0, iterations=2, **CALL))
        counting = [pool.submit(lambda: diffprof.profile(pipeline, **CALL).total.macs) for _ in range(3)]
        assert [one.result(PATIENCE) for one in counting] == [macs] * 3
        (profile,) = measuring.result(PATIENCE).profiles
    assert profile.total.macs == macs
    assert len(profile.measured.timed_iterations) == 2


def test_tasks_of_asyncio_count_as_threads_do(pipeline: Any, macs: int) -> None:
    async def count() -> list[int]:
        profiles = await asyncio.gather(*(asyncio.to_thread(diffprof.profile, pipeline, **CALL) for _ in range(3)))
        return [profile.total.macs for profile in profiles]

    assert asyncio.run(count()) == [macs] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_is_forked_while_another_thread_counts_can_count(pipeline: Any, macs: int) -> None:
    holding, done = threading.Event(), threading.Event()

    def hold() -> None:
        with DRY_RUN_LOCK:
            holding.set()
            done.wait(PATIENCE)

    thread = threading.Thread(target=hold)
    thread.start()
    assert holding.wait(PATIENCE)
    try:
        answers: Any = multiprocessing.get_context("fork").SimpleQueue()
        child = multiprocessing.get_context("fork").Process(
            target=lambda: answers.put(diffprof.profile(pipeline, **CALL).total.macs)
        )
        child.start()
        child.join(PATIENCE)
        assert child.exitcode == 0
        assert answers.get() == macs
    finally:
        done.set()
        thread.join(PATIENCE)


def count_there(answers: Any) -> None:
    answers.put(diffprof.profile(SMALL_PIPELINES["stable-diffusion"].build(), **CALL).total.macs)


@pytest.mark.extensive
def test_a_process_that_is_spawned_counts_the_same(macs: int) -> None:
    context = multiprocessing.get_context("spawn")
    answers: Any = context.SimpleQueue()
    child = context.Process(target=count_there, args=(answers,))
    child.start()
    child.join(PATIENCE)
    assert child.exitcode == 0
    assert answers.get() == macs


def raise_interrupt() -> None:
    raise KeyboardInterrupt


def send_interrupt() -> None:
    """What Ctrl-C does, and the button of a notebook."""
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def listening() -> Iterator[None]:
    """Python raises `KeyboardInterrupt`, also where a shell has switched the signal off for what runs behind it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize(
    ("work", "interrupt"),
    [
        (diffprof.profile, send_interrupt),
        (diffprof.measure, send_interrupt),
        pytest.param(diffprof.profile, raise_interrupt, marks=pytest.mark.extensive),
        pytest.param(diffprof.measure, raise_interrupt, marks=pytest.mark.extensive),
    ],
)
def test_interrupted_work_leaves_the_pipeline_and_torch_as_they_were(
    work: Callable[..., Any], interrupt: Callable[[], None], pipeline: Any, macs: int
) -> None:
    before = image_of(pipeline)
    forwards = {name: type(part).__call__ for name, part in pipeline.components.items() if part is not None}
    unet_call = pipeline.unet.forward

    def forward(*arguments: Any, **options: Any) -> Any:
        interrupt()
        return unet_call(*arguments, **options)

    pipeline.unet.forward = forward
    try:
        with pytest.raises(KeyboardInterrupt):
            work(pipeline, **CALL)
    finally:
        del pipeline.unet.forward
    assert pipeline.unet.forward == unet_call
    assert has_nothing_left()
    assert not DRY_RUN_LOCK._is_owned()  # type: ignore[attr-defined]
    assert {name: type(part).__call__ for name, part in pipeline.components.items() if part is not None} == forwards
    assert torch.equal(image_of(pipeline), before)
    assert diffprof.profile(pipeline, **CALL).total.macs == macs


@pytest.mark.extensive
def test_memory_stays_flat_over_many_profiles(pipeline: Any, macs: int) -> None:
    process = psutil.Process()

    def profile(times: int) -> int:
        for _ in range(times):
            assert diffprof.profile(pipeline, **CALL).total.macs == macs
        gc.collect()
        return process.memory_info().rss

    profile(5)
    before = profile(1)
    assert profile(20) - before < 12_000_000
