"""The table of calls adds up to the profile, equal calls in one row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from diffprof.breakdown.calls import call_table
from diffprof.record.profile import Profile
from tests.sample_profiles import hostile, nothing, stable_diffusion


@pytest.mark.parametrize("make", [stable_diffusion, nothing, hostile])
def test_calls_add_up_to_the_total(make: Callable[[], Profile]) -> None:
    profile = make()
    table = call_table(profile)
    assert sum(row.macs for row in table) == profile.total.macs
    assert sum(row.other_flops for row in table) == profile.total.other_flops
    assert sum(row.read_bytes for row in table) == profile.total.work.read_bytes
    assert sum(row.share for row in table) == pytest.approx(1.0 if profile.total.macs else 0.0)


def test_equal_calls_stand_in_one_row_with_their_steps() -> None:
    rows = call_table(stable_diffusion())
    assert [(row.component, row.count) for row in rows] == [("text_encoder", 2), ("unet", 31), ("vae", 1)]
    assert rows[1].steps == tuple(range(31))
    assert rows[0].steps == ()


def test_calls_that_differ_in_the_dtype_of_an_input_alone_stand_in_one_row() -> None:
    profile = stable_diffusion(unet_calls=2)
    first, last = (call for call in profile.calls if call.component == "unet")
    other = tuple(replace(one, tensors=tuple(replace(t, dtype="float32") for t in one.tensors)) for one in last.inputs)
    rows = call_table(replace(profile, calls=(first, replace(last, inputs=other))))
    assert [(row.inputs, row.count) for row in rows] == [(first.inputs, 2)]


def test_a_pipeline_that_called_nothing_has_an_empty_table() -> None:
    assert call_table(nothing()) == []
