"""Groups of layers that diffusers fetches and lets go: what is moved, and what of it is hidden.

There is no GPU here: ``cpu:0`` is the device, weights only say that they lie elsewhere, and streams only count waits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from diffusers.hooks.group_offloading import ModuleGroup, apply_group_offloading

from diffprof.record.measured import DEVICE_TO_HOST, FROM_DISK, HOST_TO_DEVICE, Move
from tests.runtime.instrumentation.offloaded import (
    FLOAT32,
    POSITION_IDS,
    STEPS,
    FakeStream,
    GpuComponent,
    OnDevice,
    built,
    bytes_moved,
    run_monitored,
    watching,
    weights_in,
    with_stream,
)
from tests.runtime.timing.fakes import FakeClock


@pytest.mark.parametrize("level", ["leaf_level", "block_level"])
def test_every_group_comes_in_at_every_call(level: str) -> None:
    pipeline = built()
    pipeline.enable_group_offload(torch.device("cpu:0"), offload_type=level, num_blocks_per_group=1)

    iteration = run_monitored(pipeline)

    for step in range(STEPS):
        assert bytes_moved(iteration, "unet", HOST_TO_DEVICE, step) == FLOAT32 * weights_in(pipeline.unet)
    text_bytes = FLOAT32 * weights_in(pipeline.text_encoder) + POSITION_IDS
    assert bytes_moved(iteration, "text_encoder", HOST_TO_DEVICE) == 2 * text_bytes
    decoding = weights_in(pipeline.vae.decoder) + weights_in(pipeline.vae.post_quant_conv)
    assert bytes_moved(iteration, "vae", HOST_TO_DEVICE) == FLOAT32 * decoding
    assert {(move.direction, move.hidden) for move in iteration.moves} == {(HOST_TO_DEVICE, False)}


@pytest.mark.parametrize("level", ["leaf_level", "block_level"])
def test_nothing_moves_where_host_and_device_are_one(level: str) -> None:
    pipeline = built()
    pipeline.unet.enable_group_offload(torch.device("cpu"), offload_type=level, num_blocks_per_group=1)
    assert run_monitored(pipeline).moves == ()


@pytest.mark.parametrize("level", ["leaf_level", "block_level"])
def test_groups_on_disk_are_read_at_every_call(level: str, tmp_path: Path) -> None:
    pipeline = built()
    pipeline.unet.enable_group_offload(
        torch.device("cpu"), offload_type=level, num_blocks_per_group=1, offload_to_disk_path=str(tmp_path)
    )

    iteration = run_monitored(pipeline)

    for step in range(STEPS):
        assert bytes_moved(iteration, "unet", FROM_DISK, step) == FLOAT32 * weights_in(pipeline.unet)
    assert {move.direction for move in iteration.moves} == {FROM_DISK}


def test_a_group_that_could_not_be_read_was_not_moved(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4))
    apply_group_offloading(model, "cpu", offload_type="leaf_level", offload_to_disk_path=str(tmp_path))
    [file] = tmp_path.iterdir()
    file.unlink()
    with watching(model) as iteration, pytest.raises(FileNotFoundError):
        model(torch.ones(1, 4))

    assert iteration.moves == []


def test_a_group_without_a_stream_goes_back_to_the_host() -> None:
    clock = FakeClock()
    block = GpuComponent(10, clock)
    group = ModuleGroup([block], torch.device("cpu"), torch.device("cpu"), offload_leader=block)
    with watching(block, clock) as iteration:
        block.place = OnDevice.device
        group.offload_()

    took = GpuComponent.MILLISECONDS_PER_MOVE * 1_000_000
    assert iteration.moves == [Move("component", DEVICE_TO_HOST, 40, 0, took, hidden=False)]


@pytest.mark.parametrize("kept", [{"stream": FakeStream()}, {"offload_to_disk_path": "anywhere"}])
def test_a_group_with_a_copy_on_the_host_or_disk_is_released_without_a_move(
    kept: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.Tensor, "pin_memory", torch.Tensor.clone)
    block = GpuComponent(10, FakeClock())
    group = ModuleGroup([block], torch.device("cpu"), torch.device("cpu"), offload_leader=block, **kept)
    for let_go in ("_offload_to_memory", "_offload_to_disk"):
        monkeypatch.setattr(group, let_go, lambda: setattr(block, "place", torch.device("cpu")))
    with watching(block) as iteration:
        block.place = OnDevice.device
        group.offload_()

    assert block.place.type == "cpu"
    assert iteration.moves == []


@pytest.mark.parametrize(("fetches_itself", "hidden"), [(True, False), (False, True)])
def test_with_a_stream_it_is_the_copy_on_the_host_that_is_sent_also_to_replace_one_on_the_device(
    fetches_itself: bool, hidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.Tensor, "pin_memory", torch.Tensor.clone)
    block = GpuComponent(10, FakeClock())
    block.place = OnDevice.device
    group = ModuleGroup(
        [block],
        torch.device("cpu"),
        torch.device("cpu"),
        offload_leader=block,
        stream=FakeStream(),  # type: ignore[arg-type]
        onload_self=fetches_itself,
    )
    monkeypatch.setattr(group, "_onload_from_memory", lambda: None)  # the weight says that it is there already
    with watching(block) as iteration:
        group.onload_()

    assert iteration.moves == [Move("component", HOST_TO_DEVICE, 40, 0, 0, hidden=hidden)]


def test_with_a_stream_the_next_group_is_fetched_hidden_once_the_order_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(3)))
    stream = with_stream(model, monkeypatch)
    each = FLOAT32 * (4 * 4 + 4)

    with watching(model) as iteration:
        first, second = model(torch.ones(1, 4)), len(iteration.moves)
        assert torch.equal(model(torch.ones(1, 4)), first)

    assert [(move.moved_bytes, move.hidden) for move in iteration.moves[:second]] == [(each, False)] * 3
    assert [(move.moved_bytes, move.hidden) for move in iteration.moves[second:]] == [(each, True)] * 3
    assert {move.direction for move in iteration.moves} == {HOST_TO_DEVICE}  # the host has kept its copies
    assert stream.waits > 0


def test_whether_reading_ahead_from_disk_is_hidden_is_not_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    with_stream(model, monkeypatch, tmp_path)

    with watching(model) as iteration:
        model(torch.ones(1, 4)), model(torch.ones(1, 4))

    each = FLOAT32 * (4 * 4 + 4)
    assert [(move.direction, move.moved_bytes, move.hidden) for move in iteration.moves] == [
        (FROM_DISK, each, False),
        (FROM_DISK, each, False),
        (FROM_DISK, each, None),
        (FROM_DISK, each, None),
    ]
