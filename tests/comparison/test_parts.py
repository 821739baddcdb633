"""Calls, operations and modules: what was added, removed and changed, on profiles by hand and on real pipelines."""

from __future__ import annotations

from typing import Any

import pytest

import diffprof
from diffprof.comparison.counts import ADDED, CHANGED, REMOVED
from diffprof.comparison.parts import CALL, MODULE, OPERATION, PartChange, Tally, common_factors, part_changes
from diffprof.record.profile import Profile, Work
from tests.sample_profiles import UNET_MACS, stable_diffusion
from tests.small_pipelines import SMALL_PIPELINES


def profile_of(name: str, **changes: Any) -> Profile:
    small = SMALL_PIPELINES[name]
    return diffprof.profile(small.build(), **{**small.arguments(), **changes})


def of_kind(changes: tuple[PartChange, ...], kind: str) -> list[PartChange]:
    return [change for change in changes if change.kind == kind]


def test_equal_profiles_have_no_changes() -> None:
    assert part_changes(stable_diffusion(), stable_diffusion()) == ()
    assert part_changes(profile_of("stable-diffusion"), profile_of("stable-diffusion")) == ()


def test_fewer_steps_are_fewer_calls_of_the_same() -> None:
    changes = part_changes(stable_diffusion(), stable_diffusion(steps=20, unet_calls=21))
    (call,) = of_kind(changes, CALL)
    assert (call.component, call.change, call.macs_difference) == ("unet", CHANGED, -10 * UNET_MACS)
    assert call.before is not None and call.after is not None
    assert (call.before.count, call.after.count) == (31, 21)
    assert len(of_kind(changes, OPERATION)) == 4
    assert common_factors(changes) == {(kind, "unet"): 21 / 31 for kind in (CALL, OPERATION, MODULE)}


def test_work_that_changed_by_itself_has_no_common_factor() -> None:
    def change(count: int, macs: int) -> PartChange:
        return PartChange(
            OPERATION, "unet", "mm", Tally(count=2, work=Work(macs=10)), Tally(count=count, work=Work(macs))
        )

    assert change(4, 20).factor == 2
    assert change(4, 21).factor is None
    assert common_factors([change(4, 20), change(6, 30)]) == {}
    assert common_factors([change(4, 20), PartChange(OPERATION, "unet", "add", None, Tally(count=1))]) == {}


def test_fewer_steps_of_a_real_pipeline() -> None:
    before, after = (
        profile_of("stable-diffusion", num_inference_steps=4),
        profile_of("stable-diffusion", num_inference_steps=2),
    )
    changes = part_changes(before, after)
    assert {change.change for change in changes if change.component == "unet"} == {CHANGED}
    assert common_factors(changes)[OPERATION, "unet"] == 0.5
    difference = sum(change.macs_difference for change in of_kind(changes, OPERATION))
    assert difference == after.total.macs - before.total.macs


@pytest.mark.parametrize("kind", [CALL, OPERATION, MODULE])
def test_a_lora_is_found_with_all_its_macs(kind: str) -> None:
    before, after = profile_of("stable-diffusion"), profile_of("stable-diffusion-lora")
    changes = of_kind(part_changes(before, after), kind)
    assert sum(change.macs_difference for change in changes) == after.total.macs - before.total.macs > 0
    assert {change.component for change in changes} == {"unet"}


def test_the_modules_of_a_lora_are_added_with_all_their_parameters() -> None:
    before, after = profile_of("stable-diffusion"), profile_of("stable-diffusion-lora")
    changes = of_kind(part_changes(before, after), MODULE)
    added = [change for change in changes if change.change == ADDED]
    assert any("lora_A" in change.name for change in added)
    held = [
        (change.after.parameters if change.after else 0) - (change.before.parameters if change.before else 0)
        for change in changes
    ]
    assert sum(held) == after.total.parameters - before.total.parameters > 0


def test_another_attention_processor_changes_operations_and_no_module() -> None:
    before, after = profile_of("stable-diffusion"), profile_of("stable-diffusion-sliced-attention")
    changes = part_changes(before, after)
    operations = of_kind(changes, OPERATION)
    assert {REMOVED, ADDED} <= {change.change for change in operations if "unet" in change.component}
    assert any(
        change.name.startswith("scaled_dot_product_attention") for change in operations if change.change == REMOVED
    )
    structure = [
        change
        for change in of_kind(changes, MODULE)
        if change.before is None
        or change.after is None
        or (change.before.class_name, change.before.parameters) != (change.after.class_name, change.after.parameters)
    ]
    assert structure == []
