"""Weights on their way to the device."""

from __future__ import annotations

import pytest

from diffprof.prediction.transfers import overlaps, transfer_seconds
from tests.prediction.samples import plain_device, workload_of_loads


@pytest.mark.parametrize(
    ("policy", "seconds"),
    [("none", 0), ("model", 2 * 300 / 10 / 4), ("sequential", 300 / 10), ("group", 300 / 8), ("group-leaf", 300 / 8)],
)
def test_each_way_to_offload_moves_weights_as_often_as_it_does(policy: str, seconds: float) -> None:
    workload = workload_of_loads(times=4.0)
    assert transfer_seconds(workload, {"unet": 300}, plain_device(), policy) == pytest.approx((seconds,))


def test_ordinary_memory_is_slower_than_the_link() -> None:
    fast = plain_device(host_link=100e9)
    (pageable,) = transfer_seconds(workload_of_loads(), {"unet": 2_700_000_000}, fast, "sequential")
    (pinned,) = transfer_seconds(workload_of_loads(), {"unet": 2_700_000_000}, fast, "group")
    assert (pageable, pinned) == pytest.approx((1.0, 2.7 / 80))


def test_a_component_without_weights_waits_for_none() -> None:
    assert transfer_seconds(workload_of_loads(), {"vae": 300}, plain_device(), "sequential") == (0,)


def test_only_groups_travel_while_something_computes() -> None:
    policies = ("none", "model", "sequential", "group", "group-leaf")
    assert [overlaps(policy) for policy in policies] == [False, False, False, True, True]


def test_without_a_stream_groups_go_both_ways_in_ordinary_memory_and_nothing_overlaps() -> None:
    fast = plain_device(host_link=25e9)
    weights = {"unet": 2_700_000_000}
    (both_ways,) = transfer_seconds(workload_of_loads(), weights, fast, "group", use_stream=False)
    (one_way,) = transfer_seconds(workload_of_loads(), weights, fast, "sequential")
    assert both_ways == pytest.approx(2 * one_way)
    assert not overlaps("group-leaf", use_stream=False)
