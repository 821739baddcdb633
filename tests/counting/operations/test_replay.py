"""Calls of equal modules are replayed, and nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import diffprof
from diffprof.counting.operations.functions import FunctionMode
from diffprof.counting.operations.recorder import CallTally, OperationRecorder
from diffprof.counting.operations.replay import ModuleReplay
from diffprof.counting.operations.virtual import VirtualMode
from tests.small_pipelines import SMALL_PIPELINES

Block = Callable[[torch.Tensor], torch.Tensor]


class Run:
    """A component call that calls blocks one after the other, all of which are said to be equal."""

    def __init__(self, block: Block, number: int = 3, replays: bool = True, keep: bool = False) -> None:
        self.recorder = OperationRecorder()
        self.executed = 0
        self._block = block
        mode = VirtualMode(self.recorder)
        x, kept = torch.empty(2, 8, device="meta"), list[torch.Tensor]()
        with self.recorder.component_call("Model") as call, mode, FunctionMode(mode), torch.no_grad():
            replay = ModuleReplay(self.recorder, call, lambda module: 0 if replays else None)
            for place in range(number):
                x = self._call(replay, f"blocks.{place}", x)
                kept += [x] if keep else []
            self.shape = (x.shape, x.stride(), x.dtype)
            self.alive = self.recorder.live.now
            self.peak = self.recorder.live.peak
            kept.clear()
            del x
        self.call = call

    def _call(self, replay: ModuleReplay, path: str, x: torch.Tensor) -> torch.Tensor:
        module = torch.nn.Sequential(torch.nn.Identity())
        self.recorder.enter_module(path, module, (x,), {})

        def execute() -> torch.Tensor:
            self.executed += 1
            return self._block(x)

        try:
            return replay.run(path, module, (x,), {}, execute)
        finally:
            self.recorder.leave_module()


def contents(call: CallTally) -> Any:
    work = call.executed_work()
    modules = [
        (one.path, one.class_name, one.calls, [(op.row, op.macs, count) for op, count in one.operations])
        for one in work.modules
    ]
    return modules, work.attention, [entry if type(entry) is int else entry[0] for entry in work.log]


def assert_alike(block: Block, **options: Any) -> None:
    """Replayed or not: the same work, the same memory in the same order, the same output."""
    replayed, counted = Run(block, **options), Run(block, replays=False, **options)
    assert replayed.executed == 1 < counted.executed
    assert contents(replayed.call) == contents(counted.call)
    assert (replayed.shape, replayed.alive, replayed.peak) == (counted.shape, counted.alive, counted.peak)
    assert replayed.recorder.live.now == counted.recorder.live.now == 0


WIDE, NARROW = torch.empty(32, 8, device="meta"), torch.empty(8, 32, device="meta")


def mlp(x: torch.Tensor) -> torch.Tensor:
    return x + torch.nn.functional.linear(torch.nn.functional.linear(x, WIDE).relu(), NARROW)


@pytest.mark.parametrize("keep", [False, True])
def test_an_equal_call_is_counted_without_being_executed(keep: bool) -> None:
    assert_alike(mlp, keep=keep)


def attention(x: torch.Tensor) -> torch.Tensor:
    heads = x.view(1, 2, 2, 4)
    return torch.nn.functional.scaled_dot_product_attention(heads, heads, heads).reshape(2, 8)


def test_attention_is_replayed_under_the_path_of_its_module() -> None:
    assert_alike(attention)
    assert [path for path, _ in Run(attention).call.attended] == ["blocks.0", "blocks.1", "blocks.2"]


def unfused(x: torch.Tensor) -> torch.Tensor:
    heads = x.view(1, 2, 8)
    return torch.bmm(torch.bmm(heads, heads.transpose(1, 2)).softmax(-1), heads).view(2, 8)


def test_attention_that_is_written_out_is_replayed_as_attention() -> None:
    assert_alike(unfused)


def test_a_part_of_a_larger_storage_takes_as_much_as_before() -> None:
    assert_alike(lambda x: torch.cat([x, x])[1:3])


def test_what_hands_back_its_input_is_given_that_of_its_own_call() -> None:
    assert_alike(lambda x: x)
    assert_alike(lambda x: x.t().t())


COUNTER = torch.zeros(1)
KEPT: list[torch.Tensor] = []


def read_a_value(x: torch.Tensor) -> torch.Tensor:
    return x + float(COUNTER.item())


def write_a_value(x: torch.Tensor) -> torch.Tensor:
    COUNTER.add_(1)
    return x + 1


def keep_a_tensor(x: torch.Tensor) -> torch.Tensor:
    KEPT.append(x + 1)
    return x + 2


def give_back_values(x: torch.Tensor) -> torch.Tensor:
    return torch.ones(2, 8)


@pytest.mark.parametrize("block", [read_a_value, write_a_value, keep_a_tensor])
def test_what_reads_values_or_leaves_something_behind_is_executed_each_time(block: Block) -> None:
    try:
        assert Run(block).executed == 3
    finally:
        KEPT.clear()


def test_values_are_not_made_up() -> None:
    """The first block gets a virtual tensor and the others what the first gives back, which is real."""
    assert Run(give_back_values).executed == 3


class CachedRun:
    """A decoder that is called frame by frame, with a list of what it keeps for the next frame."""

    def __init__(self, block: Callable[..., torch.Tensor], replays: bool, aliased: bool = False) -> None:
        self.recorder = OperationRecorder()
        self.executed = 0
        mode = VirtualMode(self.recorder)
        cache: list[Any] = [None, None]
        frames, elsewhere = list[torch.Tensor](), list[Any]()
        given = torch.empty(2, 8, device="meta")
        with self.recorder.component_call("Model") as call, mode, FunctionMode(mode), torch.no_grad():
            replay = ModuleReplay(self.recorder, call, lambda module: 0 if replays else None)
            module = torch.nn.Sequential(torch.nn.Identity())
            for number in range(7):
                x, index = given + 1, [0]
                frames.append(self._call(replay, module, block, x, cache, index))
                elsewhere = [cache[0]] if aliased and number == 4 else []
            self.index = index
            self.cached = [(one.shape, one.stride()) if isinstance(one, torch.Tensor) else one for one in cache]
            self.alive, self.peak = self.recorder.live.now, self.recorder.live.peak
            frames.clear(), cache.clear(), elsewhere.clear()
            del x
        self.call = call

    def _call(self, replay: ModuleReplay, module: Any, block: Any, x: Any, cache: list[Any], index: list[int]) -> Any:
        self.recorder.enter_module("decoder", module, (x, cache), {"index": index})

        def execute() -> torch.Tensor:
            self.executed += 1
            return block(x, cache, index)  # type: ignore[no-any-return]

        try:
            return replay.run("decoder", module, (x, cache), {"index": index}, execute)
        finally:
            self.recorder.leave_module()


def causal(x: torch.Tensor, cache: list[Any], index: list[int]) -> torch.Tensor:
    """As diffusers' causal convolutions: the last frames are kept, and those before are freed in between."""
    for _ in range(2):
        kept = x[1:].clone()
        if cache[index[0]] is None:
            cache[index[0]] = "Rep"
        else:
            before = cache[index[0]]
            x = x + 1 if isinstance(before, str) else torch.cat([before, x])[1:] * 2
            del before
            cache[index[0]] = kept
        index[0] += 1
    return x + 1


def shift(x: torch.Tensor, cache: list[Any], index: list[int]) -> torch.Tensor:
    cache[1], cache[0] = cache[0], x + 1
    return x * 2


def look(x: torch.Tensor, cache: list[Any], index: list[int]) -> torch.Tensor:
    cache[0] = cache[0] if cache[0] is not None else x + 1
    return x + cache[0]


def grow(x: torch.Tensor, cache: list[Any], index: list[int]) -> torch.Tensor:
    cache.append(x + 1)
    return x * 2


@pytest.mark.parametrize(
    ("block", "aliased", "executed"),
    [(causal, False, 3), (causal, True, 4), (look, False, 2), (shift, False, 7), (grow, False, 7)],
)
def test_a_list_that_is_refilled_has_the_same_tensors_and_frees_the_same_ones(
    block: Callable[..., torch.Tensor], aliased: bool, executed: int
) -> None:
    replayed, counted = CachedRun(block, True, aliased), CachedRun(block, False, aliased)
    assert (replayed.executed, counted.executed) == (executed, 7)
    assert contents(replayed.call) == contents(counted.call)
    assert (replayed.cached, replayed.index) == (counted.cached, counted.index)
    assert (replayed.alive, replayed.peak) == (counted.alive, counted.peak)
    assert replayed.recorder.live.now == counted.recorder.live.now == 0


def profile_of(name: str) -> diffprof.Profile:
    small = SMALL_PIPELINES[name]
    return diffprof.profile(small.build(), **small.arguments())


@pytest.mark.parametrize("name", ["flux", "wan-2.1", "stable-diffusion"])
def test_a_pipeline_has_the_profile_that_it_has_without_replays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[str] = []
    run = ModuleReplay.run

    def watch(self: Any, path: str, module: Any, args: Any, kwargs: Any, execute: Callable[[], Any]) -> Any:
        ran: list[int] = []
        output = run(self, path, module, args, kwargs, lambda: (ran.append(1), execute())[1])
        played.extend([] if ran else [path])
        return output

    monkeypatch.setattr(ModuleReplay, "run", watch)
    replayed = profile_of(name)
    assert played
    monkeypatch.setattr(ModuleReplay, "run", lambda self, path, module, args, kwargs, execute: execute())
    assert profile_of(name) == replayed
