"""What can be done otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.advice.alternatives import (
    Alternative,
    Plan,
    computation_alternatives,
    find_media,
    request_alternatives,
    siblings,
    weight_alternatives,
)
from diffprof.catalogue import Entry, entries, find
from diffprof.catalogue.accelerators import find_accelerator
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings
from tests.sample_profiles import nothing, stable_diffusion

PROFILE = stable_diffusion()
REQUEST = Request("sd-2.1-base", dict(PROFILE.request.arguments))
NOTHING = Plan((), REQUEST, RunSettings())
H100 = find_accelerator("h100-sxm")


def test_a_plan_has_the_highest_risk_of_its_parts() -> None:
    low, high = Alternative("a", "one", "low"), Alternative("b", "two", "high")
    plan = NOTHING.add(low)
    assert plan is not None and plan.risk == "low"
    both = plan.add(high)
    assert both is not None and (both.names, both.risk) == (("a", "b"), "high")
    assert NOTHING.risk == "none"


def test_of_a_group_only_one_is_done() -> None:
    plan = NOTHING.add(Alternative("a", "offload"))
    assert plan is not None and plan.add(Alternative("b", "offload")) is None


def test_what_excludes_each_other_is_not_put_together_in_either_order() -> None:
    resident = Alternative("a", "one", needs=lambda settings: settings.offload == "none")
    away = Alternative("b", "two", settings={"offload": "model"})
    first, second = NOTHING.add(resident), NOTHING.add(away)
    assert first is not None and first.add(away) is None
    assert second is not None and second.add(resident) is None


def test_an_alternative_changes_the_request() -> None:
    (fewer,) = [one for one in request_alternatives(PROFILE, REQUEST) if one.name == "18 steps"]
    plan = NOTHING.add(fewer)
    assert plan is not None and plan.request.arguments["num_inference_steps"] == 18


def test_what_is_done_already_is_no_alternative() -> None:
    names = {one.name for one in request_alternatives(PROFILE, REQUEST)}
    tiled = {one.name for one in request_alternatives(PROFILE, Request("sd-2.1-base", enable=("vae_tiling",)))}
    assert names - tiled == {"vae tiling"}
    assert not list(computation_alternatives(PROFILE, RunSettings(compiled=True)))
    assert [one.name for one in computation_alternatives(PROFILE, RunSettings(attention="math", compiled=True))] == [
        "fused attention"
    ]


def test_weights_can_be_kept_elsewhere_unless_they_are() -> None:
    card = find_accelerator("l4")
    names = [one.name for one in weight_alternatives(PROFILE, RunSettings(), card)]
    assert {"offload model", "layerwise fp8", "quantize unet=nf4"} <= set(names)
    away = [one.name for one in weight_alternatives(PROFILE, RunSettings(offload="model"), card)]
    assert not any(name.startswith("offload") for name in away)


def test_products_in_eight_bits_are_offered_where_matrix_cores_have_them() -> None:
    has, lacks = (
        [one.name for one in weight_alternatives(PROFILE, RunSettings(), find_accelerator(name))]
        for name in ("h100-sxm", "v100-sxm2-32gb")
    )
    assert any("products in fp8" in name for name in has)
    assert not any("products in" in name for name in lacks)


def test_siblings_do_less_work_for_the_same_task() -> None:
    own = find("sd-2.1-base")
    assert own is not None
    found = list(siblings(PROFILE, REQUEST, H100))
    assert found and all(one.risk == "high" for one in found)
    for one in found:
        entry = find(one.name)
        assert entry is not None and entry.task == own.task


@pytest.mark.parametrize("model", ["sd-2.1-base", "flux.1-dev", "wan2.1-t2v-14b", "sdxl", "stable-audio-open"])
def test_siblings_are_those_that_a_look_at_every_model_would_find(model: str) -> None:
    own, profile = find(model), replace(PROFILE, request=replace(PROFILE.request, model=model))
    assert own is not None
    lighter = [
        entry for entry in entries() if entry.task == own.task and not entry.inputs and work_of(entry) < work_of(own)
    ]
    family = sorted((entry for entry in lighter if entry.family == own.family), key=work_of)
    newer = [entry for entry in lighter if entry.family != own.family and (entry.year or 0) >= (own.year or 0)]
    newer.sort(key=lambda entry: (-(entry.year or 0), -work_of(entry)))
    first = [*family[:2], *newer][:3]
    # Those that another one outdoes by far are left out.
    expected = [
        entry.name
        for entry in first
        if not any(one.parameters < entry.parameters and 2 * work_of(one) <= work_of(entry) for one in first)
    ]
    assert [one.name for one in siblings(profile, REQUEST, H100)] == expected


def test_a_sibling_has_a_dtype_that_the_accelerator_supports() -> None:
    profile = replace(PROFILE, request=replace(PROFILE.request, model="stable-audio-open"))
    for accelerator, dtype in ((H100, None), (find_accelerator("t4"), "float16")):
        requests = [one.rewrite(REQUEST) for one in siblings(profile, REQUEST, accelerator) if one.rewrite is not None]
        published = [find(str(request.model)) for request in requests]
        assert [request.dtype for request in requests if request.dtype] == [
            dtype for entry in published if dtype and entry is not None and entry.dtype == "bfloat16"
        ]


def work_of(entry: Entry) -> float:
    steps = entry.recommended.get("num_inference_steps", 40)
    return entry.parameters * (steps if isinstance(steps, int) else 40)


def test_a_model_that_nobody_knows_has_neither_siblings_nor_a_medium() -> None:
    assert (list(siblings(nothing(), REQUEST, H100)), find_media(nothing())) == ([], "")
    assert find_media(PROFILE) == "image"
