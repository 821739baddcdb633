"""What a rank did, as rows: the whole call, each component, and what went into collectives."""

from __future__ import annotations

from dataclasses import replace

from diffprof.breakdown.ranks import COLLECTIVES, rank_parts
from diffprof.counting.collectives import EAGER, FUNCTIONAL
from diffprof.record.profile import Operation, Work
from diffprof.record.tensors import OperationShapes
from tests.sample_iterations import CPU
from tests.sample_profiles import measured_profile, stable_diffusion


def test_the_whole_call_comes_first_and_the_components_follow() -> None:
    profile = measured_profile()
    whole, *parts = rank_parts(profile, 3, "cpu")
    assert (whole.rank, whole.component, whole.device) == (3, "", f"{CPU.name} (cpu)")
    assert {part.component for part in parts} == {"unet", "vae", "text_encoder"}
    assert whole.macs == sum(part.macs or 0 for part in parts)
    assert (whole.sent_bytes, whole.received_bytes) == (0, 0)


def test_what_is_communicated_is_counted_by_component() -> None:
    profile = measured_profile()
    exchange = Operation("all_to_all_single", "movement", OperationShapes((), ()), "float16", 1, Work(0, 0, 70, 30))
    calls = tuple(
        replace(call, cost=replace(call.cost, operations=(*call.cost.operations, exchange)))
        if call.component == "vae" else call
        for call in profile.calls
    )  # fmt: skip
    rows = {row.component: row for row in rank_parts(replace(profile, calls=calls), 0, "cpu")}
    assert (rows["vae"].sent_bytes, rows["vae"].received_bytes) == (70, 30)
    assert (rows[""].sent_bytes, rows["unet"].sent_bytes) == (70, 0)


def test_a_profile_that_was_only_counted_has_no_rows() -> None:
    assert rank_parts(stable_diffusion(), 0, "cpu") == ()


def test_every_collective_that_is_counted_is_known_here() -> None:
    assert {*EAGER, *FUNCTIONAL} == COLLECTIVES
