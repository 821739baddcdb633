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
from diffprof.prediction.memory_on_devices import peak_of_stages
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


def frames_of_a_video(number: int) -> list[Event]:
    """Each frame replaces a cache, has a large tensor for a while, and leaves its pixels behind."""
    frame = [(ALLOCATE, 9 * MIB, 1), (ALLOCATE, 40 * MIB, 1), (ALLOCATE, 3 * MIB, 1), (RELEASE, 2, 0), (RELEASE, 6, 0)]
    return [(ALLOCATE, 9 * MIB, 0), (ALLOCATE, MIB, 0), (ALLOCATE, MIB, 0), *(frame * number)]


def test_of_many_repetitions_that_add_up_only_the_ends_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_player, "WORTH_LEAVING_OUT", 100)
    whole, short = Player(can_skip=False), Player(can_skip=True)
    for player in (whole, short):
        player.play_all(event_parts(cost_of(frames_of_a_video(60))))
    assert short.followed < whole.followed / 5
    assert list(short.alive) == list(whole.alive)
    assert short.place == whole.place == 180
    # Blocks may be up to a MiB larger than what was requested.
    assert short.most == pytest.approx(whole.most, rel=0.01)
    assert short.allocator.requested == whole.allocator.requested


def test_repetitions_among_repetitions_are_left_out_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_player, "WORTH_LEAVING_OUT", 100)
    tile = [*frames_of_a_video(30), (ALLOCATE, 90 * MIB, 1), *[(RELEASE, 3 * age + 2, 0) for age in range(30)]]
    whole, short = Player(can_skip=False), Player(can_skip=True)
    for player in (whole, short):
        player.play_all(event_parts(cost_of([(ALLOCATE, MIB, 0), *(tile * 12)])))
    assert short.followed < whole.followed / 10
    assert list(short.alive) == list(whole.alive)
    assert short.most == pytest.approx(whole.most, rel=0.01)


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


@pytest.mark.parametrize("offload", ["none", "model", "group-leaf"])
def test_a_video_in_tiles_needs_as_much_as_if_every_frame_was_followed(
    offload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reserved memory may differ, because the free memory that each frame finds does."""
    settings = RunSettings(offload=offload)
    profile = count_request(Request.create("wan2.1-t2v-1.3b", {}, enable=("vae_tiling",)))
    quick = peak_of_stages(predict_memory(profile, settings, DeviceMemory("ada")))
    monkeypatch.setattr(event_player, "WORTH_LEAVING_OUT", 10**9)
    whole = peak_of_stages(predict_memory(profile, settings, DeviceMemory("ada")))
    assert quick.allocated_bytes == pytest.approx(whole.allocated_bytes, rel=2e-3)
    assert quick.reserved_bytes == pytest.approx(whole.reserved_bytes, rel=1e-2)
