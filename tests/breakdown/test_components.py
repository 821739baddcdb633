"""The table of components adds up to the profile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from diffprof.breakdown.components import component_table
from diffprof.record.profile import Profile
from tests.sample_profiles import UNET_CALLS, UNET_MACS, hostile, nothing, stable_diffusion


@pytest.mark.parametrize("make", [stable_diffusion, nothing, hostile])
def test_components_add_up_to_the_total(make: Callable[[], Profile]) -> None:
    profile = make()
    table = component_table(profile)
    assert sum(row.macs for row in table) == profile.total.macs
    assert sum(row.other_flops for row in table) == profile.total.other_flops
    assert sum(row.read_bytes for row in table) == profile.total.work.read_bytes
    assert sum(row.share for row in table) == pytest.approx(1.0 if profile.total.macs else 0.0)


def test_components_stand_in_the_pipelines_order_with_the_cost_of_a_call() -> None:
    rows = component_table(stable_diffusion())
    assert [row.component for row in rows] == ["vae", "text_encoder", "unet"]
    assert (rows[2].calls, rows[2].least_macs_per_call, rows[2].most_macs_per_call) == (
        UNET_CALLS,
        UNET_MACS,
        UNET_MACS,
    )


def test_a_component_whose_calls_differ_has_a_least_and_a_most() -> None:
    row = component_table(hostile())[0]
    assert (row.calls, row.least_macs_per_call, row.most_macs_per_call) == (2, 1_000, 3_000_000)
