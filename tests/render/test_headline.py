"""The sentences around the tables say what was asked and nothing that is not so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diffprof.record.profile import NO_WORK, Call, Component, Cost, Profile, Stage, Steps, Work
from diffprof.record.sizes import ComputedSize, ResizedOutput
from diffprof.render.columns import Column, fit_columns
from diffprof.render.headline import headline, summary
from diffprof.render.profile_console import profile_text
from diffprof.render.table_names import ProfileTable
from tests.sample_profiles import stable_diffusion


def with_request(**arguments: Any) -> Profile:
    profile = stable_diffusion()
    return replace(profile, request=replace(profile.request, arguments=arguments, defaults={}))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"height": 512, "width": 512}, "512 x 512"),
        ({"height": 256, "width": 512}, "512 wide x 256 high"),
        ({"prompt": ["a", "b"]}, "2 prompts"),
        ({"denoising_end": 0.8}, "denoising_end 0.8"),
        ({"clean_caption": True}, "clean_caption true"),
        ({"prior_guidance_scale": 4.0}, "prior_guidance_scale 4"),
        ({"true_cfg_scale": 2.5}, "true_cfg_scale 2.5"),
    ],
)
def test_the_request_is_in_the_headline_once(arguments: dict[str, Any], words: str) -> None:
    assert headline(with_request(**arguments)).split(" · ").count(words) == 1


def test_only_short_arguments_and_few_of_them_stand_in_the_headline() -> None:
    others = {"sigmas": [1.0, 0.5], "prompt_2": "a long text that says a lot", "a": 1, "b": 2, "c": 3, "d": 4}
    assert headline(with_request(prompt="a cat", **others)).endswith("float16 · a 1 · b 2 · c 3")


@pytest.mark.parametrize(
    ("step_macs", "words"),
    [
        ((1_000_000,), ", 1.00 MMACs"),
        ((1_000_000,) * 3, ", 1.00 MMACs each"),
        ((1_000_000, 1_000_000, 2_000_000), ", mostly 1.00 MMACs each"),
        ((22_380_000, 44_760_000), ", 22.38 to 44.76 MMACs each"),
        ((1_000, 3_000_000), ", 1.00 KMACs to 3.00 MMACs each"),
        ((1_000_000, 1_000_001), ", about 1.00 MMACs each"),
    ],
)
def test_a_step_costs_what_most_steps_cost_or_a_range(step_macs: tuple[int, ...], words: str) -> None:
    profile = replace(stable_diffusion(), steps=Steps((Stage("DDIMScheduler", ("unet",), step_macs),)))
    assert dict(summary(profile))["Steps"].endswith(f"DDIMScheduler{words}")


def weights(**vae: Any) -> str:
    profile = stable_diffusion()
    components = {**profile.components, "vae": replace(profile.components["vae"], **vae)}
    return dict(summary(replace(profile, components=components)))["Weights"]


def test_weights_of_several_dtypes_are_named() -> None:
    parameters = stable_diffusion().components["vae"].parameters
    assert "some in" not in weights()
    assert weights(weight_bytes=4 * parameters, dtype="float32").endswith(", some in float32")
    assert weights(weight_bytes=2 * parameters + 20).endswith(", some in float32")
    assert "some in" not in weights(buffers=10, weight_bytes=2 * parameters + 80), "integers of eight bytes explain it"


def test_what_the_pipeline_changed_comes_before_what_was_assumed() -> None:
    profile = stable_diffusion()
    changed = (
        "requested height 500; the pipeline generates 496",
        "the pipeline computes at 64x64 and resizes to 60x60",
    )
    ledger = replace(profile.ledger, assumptions=("The prompt is a stand-in.",))
    resized, computed = (ResizedOutput("height", 500, 496),), ComputedSize(64, 64, 60, 60)
    lines = summary(replace(profile, ledger=ledger, resized=resized, computed_size=computed))
    assert lines[-3:] == [("Changed", changed[0]), ("", changed[1]), ("Assumed", "1. The prompt is a stand-in.")]


def with_own_code(macs: int) -> Profile:
    profile = stable_diffusion()
    cost = Cost(Work(macs, 5), 8) if macs else Cost(NO_WORK, 0)
    own = Component("pipeline", "StableDiffusionPipeline", "pipeline", "float16", 0, 0, 0, calls=1, work=cost.work)
    return replace(
        profile,
        components={**profile.components, "pipeline": own},
        calls=(*profile.calls, Call("pipeline", "__call__", (), None, cost)),
    )


@pytest.mark.parametrize(
    ("by", "row"), [(ProfileTable.component, "\npipeline "), (ProfileTable.call, "\npipeline.__call__ ")]
)
def test_the_pipelines_own_code_has_a_row_if_it_computes_or_with_verbose(by: ProfileTable, row: str) -> None:
    assert row not in profile_text(with_own_code(0), 120, by)
    assert row in profile_text(with_own_code(0), 120, by, verbose=True)
    assert row in profile_text(with_own_code(7), 120, by)


def test_one_empty_line_stands_before_the_total() -> None:
    for by in ProfileTable:
        text = profile_text(with_own_code(0), 120, by, verbose=True)
        assert "\n\nTotal" in text
        assert "\n\n\nTotal" not in text


def test_a_long_class_name_is_cut_and_not_broken() -> None:
    profile = stable_diffusion()
    long = replace(profile.components["unet"], class_name="AVeryLongNameOfAClassThatNobodyCanRemember")
    shown = profile_text(replace(profile, components={**profile.components, "unet": long}), 80)
    assert "AVeryLongNameOfAClassTh…" in shown
    assert "Remember" not in shown


def test_columns_of_one_rank_go_together_and_are_named() -> None:
    columns = [Column(name, ["x" * 10], rank) for name, rank in (("a", 0), ("b\nb", 2), ("para-\nmeters", 2), ("c", 1))]
    assert fit_columns(columns, 46).left_out == []
    assert fit_columns(columns, 45).left_out == ["b b", "parameters"]
    assert fit_columns(columns, 10).left_out == ["b b", "parameters", "c"]


@pytest.mark.parametrize(
    ("recommended", "words"),
    [
        (("num_inference_steps", "guidance_scale"), "4 steps, recommended · guidance 0"),
        (("guidance_scale",), "4 steps · guidance 0, recommended"),
        (("height", "width"), "64 x 64, recommended · 4 steps · guidance 0"),
        ((), "64 x 64 · 4 steps · guidance 0"),
    ],
)
def test_the_headline_says_what_is_recommended_and_the_summary_says_all(
    recommended: tuple[str, ...], words: str
) -> None:
    profile = with_request(height=64, width=64, num_inference_steps=4, guidance_scale=0.0)
    steps = replace(profile.steps, stages=(replace(profile.steps.stages[0], step_macs=(1, 1, 1, 1)),))
    profile = replace(profile, steps=steps, request=replace(profile.request, recommended=recommended))
    assert words in headline(profile)
    settings = [text for label, text in summary(profile) if label == "Settings"]
    assert len(settings) == bool(recommended)
    for name in recommended:
        assert name in settings[0]
