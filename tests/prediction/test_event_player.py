"""Leaving repetitions out changes nothing: whatever repeats itself, the allocator ends as if all of it was followed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from diffprof.counting.request_profile import count_request
from diffprof.prediction import event_player
from diffprof.prediction.allocator import MIB, CachingAllocator
from diffprof.prediction.device_memory import DeviceMemory
from diffprof.prediction.event_player import Event, EventPlayer, event_parts
from diffprof.prediction.memory_simulation import predict_memory
from diffprof.record.allocations import ALLOCATE, RELEASE, AllocationEvent, compress
from diffprof.record.profile import Cost, Work
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings


class Player(EventPlayer):
    """Allocates, releases, and counts what it followed."""

    def __init__(self, can_skip: bool) -> None:
        super().__init__(CachingAllocator(), can_skip)
        self.followed = 0
        self.most = 0

    def play(self, events: Sequence[Event]) -> None:
        for kind, value, step in events:
            self.followed += 1
            if kind == ALLOCATE:
                self.place += step
                self.alive[len(self.blocks)] = None
                self.blocks.append(self.allocator.allocate(value))
                self.sizes.append(value)
                self.most = max(self.most, self.allocator.allocated)
            else:
                number = len(self.blocks) - value
                self.allocator.release(self.blocks[number])
                del self.alive[number]


def blocks_of_a_model(rng: random.Random, times: int) -> Iterator[Event]:
    """Equal blocks: each passes one tensor on to the next, and takes some of its own on the way."""
    sizes = [rng.choice((300, 5000, 700_000, 3 * MIB, 25 * MIB)) + 512 * rng.randrange(200) for _ in range(12)]
    yield ALLOCATE, sizes[0], 1
    for _ in range(times):
        for size in sizes:
            yield ALLOCATE, size, 1
        yield RELEASE, len(sizes) + 1, 0  # what the block before passed on
        for age in rng_ages(sizes):
            yield RELEASE, age, 0


def rng_ages(sizes: Sequence[int]) -> list[int]:
    """All but the latest, the same ones in every block."""
    ages = list(range(2, len(sizes) + 1))
    random.Random(sum(sizes)).shuffle(ages)
    return ages


def cost_of(events: Sequence[Event]) -> Cost:
    distinct = list(dict.fromkeys(events))
    numbers = {event: number for number, event in enumerate(distinct)}
    records = [AllocationEvent(kind, value, 2 * step) for kind, value, step in distinct]
    return Cost(Work(), 0, allocations=compress(records, [numbers[event] for event in events]))


@pytest.mark.parametrize("seed", range(25))
def test_the_end_is_the_same_however_much_is_left_out(seed: int) -> None:
    rng = random.Random(seed)
    before = [(ALLOCATE, 1000 * (number + 1), 1) for number in range(5)]
    cost = cost_of([*before, *blocks_of_a_model(rng, 40), (RELEASE, 1, 0), *blocks_of_a_model(rng, 30)])
    whole, short = Player(can_skip=False), Player(can_skip=True)
    for player in (whole, short):
        player.play_all(event_parts(cost))
    assert short.followed < whole.followed / 2
    assert short.allocator.free_blocks() == whole.allocator.free_blocks()
    assert list(short.alive) == list(whole.alive)
    assert [short.blocks[n] for n in short.alive] == [whole.blocks[n] for n in whole.alive]
    assert (short.most, short.place, short.allocator.reserved) == (whole.most, whole.place, whole.allocator.reserved)


def test_what_grows_with_every_repetition_is_followed_to_its_end() -> None:
    events = [event for _ in range(50) for event in [(ALLOCATE, 3 * MIB, 1)] * 5 + [(RELEASE, 2, 0), (RELEASE, 4, 0)]]
    player = Player(can_skip=True)
    player.play_all(event_parts(cost_of(events)))
    assert player.followed == len(events)
    assert player.allocator.allocated == 150 * 3 * MIB


@pytest.mark.parametrize(
    "settings",
    [
        RunSettings(offload="group"),
        RunSettings(offload="group-leaf", layerwise={"transformer": "float8_e4m3fn"}),
        RunSettings(offload="sequential"),
        RunSettings(offload="model", quantize={"transformer": "bitsandbytes:nf4"}),
        RunSettings(drop_text_encoders=True),
    ],
)
def test_weights_that_come_and_go_are_as_if_every_block_was_followed(
    settings: RunSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = count_request(Request.create("flux.1-dev", {"num_inference_steps": 6}))
    quick = predict_memory(profile, settings, DeviceMemory("ada"))
    monkeypatch.setattr(event_player, "LEAST_SKIPPED", 10**9)
    assert predict_memory(profile, settings, DeviceMemory("ada")) == quick
