"""Predicted times: their parts, their order and their bounds."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from diffprof.catalogue.accelerators import Accelerator, accelerators, find_accelerator
from diffprof.errors import RequestError
from diffprof.prediction.device import device_of
from diffprof.prediction.time import job_of, predict_time
from diffprof.record.prediction import LIMITS, PredictedTime
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings
from tests.prediction.samples import stable_diffusion_profile


def predicted(
    profile: Profile | None = None, on: str | Accelerator = "a100-sxm-80gb", **settings: object
) -> PredictedTime:
    accelerator = find_accelerator(on) if isinstance(on, str) else on
    job = job_of(profile or stable_diffusion_profile(), RunSettings(**settings))  # type: ignore[arg-type]
    return predict_time(job, device_of(accelerator))


@pytest.mark.parametrize("accelerator", accelerators(), ids=lambda entry: entry.name)
def test_bound_and_interval_are_in_order_on_every_accelerator(accelerator: Accelerator) -> None:
    time = predicted(on=accelerator)
    assert 0 < time.bound_seconds <= time.low_seconds <= time.total_seconds <= time.high_seconds


def test_a_similar_job_changes_no_time() -> None:
    profile, device, last = stable_diffusion_profile(), device_of(find_accelerator("l4")), None
    for settings in (
        RunSettings(), RunSettings(offload="model"), RunSettings(quantize={"unet": "bitsandbytes:nf4"}),
        RunSettings(compiled=True), RunSettings(attention="math"), RunSettings(skip_rate=0.5), RunSettings(devices=2),
    ):  # fmt: skip
        last = job_of(profile, settings, last)
        assert predict_time(last, device) == predict_time(job_of(profile, settings), device)
        assert predict_time(last, device_of(find_accelerator("t4"))) != predict_time(last, device)


def test_components_and_kinds_sum_to_the_total() -> None:
    time = predicted()
    assert sum(part.total_seconds for part in time.components.values()) == pytest.approx(time.total_seconds)
    assert sum(part.bound_seconds for part in time.components.values()) == pytest.approx(time.bound_seconds)
    assert sum(time.kinds.values()) == pytest.approx(time.total_seconds)
    for part in time.components.values():
        assert sum(part.kinds.values()) == pytest.approx(part.total_seconds)


def test_more_steps_take_more_time() -> None:
    profile = stable_diffusion_profile()
    looped = [call for call in profile.calls if call.step is not None]
    longer = replace(profile, calls=(*profile.calls, *looped))
    assert predicted(longer).total_seconds > 1.5 * predicted(profile).total_seconds


def test_a_card_that_is_better_in_everything_is_not_slower() -> None:
    base = find_accelerator("rtx-3090")
    for factor in (1.1, 1.5, 2.0, 4.0):
        better = replace(
            base,
            bandwidth_bytes_per_second=base.bandwidth_bytes_per_second * factor,
            peak_flops_per_second={dtype: peak * factor for dtype, peak in base.peak_flops_per_second.items()},
            board_power_watts=(base.board_power_watts or 0) * factor,
        )
        assert predicted(on=better).total_seconds <= predicted(on=base).total_seconds
        base = better


def test_accelerators_come_in_the_order_that_people_know() -> None:
    order = ("h100-sxm", "a100-sxm-80gb", "rtx-3090", "rtx-3060-12gb", "t4")
    times = [predicted(on=name).total_seconds for name in order]
    assert all(faster < slower for faster, slower in itertools.pairwise(times))


def test_compiling_makes_it_faster() -> None:
    assert predicted(compiled=True).total_seconds < predicted().total_seconds


def test_attention_that_is_not_fused_is_slower() -> None:
    assert predicted(attention="math").kinds["attention"] > predicted().kinds["attention"]


def test_offloading_takes_transfers_that_only_groups_hide() -> None:
    none, model, sequential, group = (predicted(offload=way) for way in ("none", "model", "sequential", "group"))
    assert none.total_seconds < model.total_seconds < sequential.total_seconds
    assert sequential.limited_by == "transfers"
    assert none.total_seconds <= group.total_seconds < sequential.total_seconds


def test_skipped_calls_take_no_time() -> None:
    whole, half = predicted(), predicted(skip_rate=0.5)
    assert half.components["unet"].total_seconds == pytest.approx(whole.components["unet"].total_seconds / 2)
    assert half.components["vae"].total_seconds == whole.components["vae"].total_seconds


def test_quantized_weights_travel_faster() -> None:
    plain, packed = (
        predicted(offload="sequential"),
        predicted(offload="sequential", quantize={"unet": "bitsandbytes:nf4"}),
    )
    assert packed.kinds["transfers"] < plain.kinds["transfers"]


def test_weights_in_four_bits_have_to_be_unpacked() -> None:
    assert predicted(quantize={"unet": "bitsandbytes:nf4"}).kinds["dequantization"] > 0
    assert "dequantization" not in predicted(quantize={"unet": "torchao:int8-dynamic"}).kinds


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"offload": "disk"}, "Unknown offload mode 'disk'; use one of none, model, sequential, group, group-leaf."),
        ({"quantize": {"transformer": "bitsandbytes:nf4"}}, "The pipeline has no component 'transformer' with weights"),
        ({"skip_rate": 1.0}, "The share of skipped calls must be from 0 to below 1, not 1."),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence.replace("(", r"\(")):
        predicted(**settings)


def test_a_step_is_the_loop_divided_by_its_steps() -> None:
    profile, time = stable_diffusion_profile(), predicted()
    steps = profile.steps.count
    loop = time.components["unet"].total_seconds + time.components["pipeline"].total_seconds
    assert time.step_seconds == pytest.approx(loop / steps)


def test_what_limits_is_one_of_five_things() -> None:
    assert {predicted(on=entry).limited_by for entry in accelerators()} <= set(LIMITS)


def test_energy_is_less_than_the_board_could_take_and_unknown_without_its_power() -> None:
    time = predicted()
    assert time.energy_joules is not None
    assert 0 < time.energy_joules < 400 * time.total_seconds
    assert predicted(on=replace(find_accelerator("a100-sxm-80gb"), board_power_watts=None)).energy_joules is None


def test_a_profile_without_operations_is_refused() -> None:
    profile = stable_diffusion_profile()
    emptied = replace(
        profile, calls=tuple(replace(call, cost=replace(call.cost, operations=())) for call in profile.calls)
    )
    with pytest.raises(RequestError, match="does not list the operations of"):
        predicted(emptied)
