"""diffusers' caches by name: those that the installed version has, with settings that work."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.errors import PipelineError, RequestError
from diffprof.pipelines.changes.step_caches import enable_cache, is_decided_by_values, known_caches, parse_cache
from diffprof.pipelines.loading.weights import load_pipeline
from tests.pipelines.folders import saved
from tests.small_pipelines import SMALL_PIPELINES


def test_every_cache_of_diffusers_has_a_name() -> None:
    caches = known_caches()
    assert {"first_block", "pyramid_attention", "faster", "taylorseer", "mag"} <= caches.keys()
    assert caches["first_block"].__name__ == "FirstBlockCacheConfig"


def test_settings_are_read_with_their_types() -> None:
    choice = parse_cache(
        "pyramid_attention:spatial_attention_block_skip_range=3,spatial_attention_timestep_skip_range=[100, 800]"
    )
    assert choice.settings == {
        "spatial_attention_block_skip_range": 3,
        "spatial_attention_timestep_skip_range": (100, 800),
    }
    assert parse_cache("TaylorSeer:use_lite_mode=true,disable_cache_after_step=none").settings == {
        "use_lite_mode": True,
        "disable_cache_after_step": None,
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense", "unknown cache 'nonsense'; the installed diffusers has faster, first_block"),
        ("first_block:thresold=1", "has no setting 'thresold'; did you mean threshold"),
        ("first_block:much", "are written first_block:key=value"),
    ],
)
def test_an_invalid_cache_is_rejected(text: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        parse_cache(text)


@pytest.mark.parametrize("name", ["first_block", "pyramid_attention", "faster", "taylorseer", "mag"])
def test_a_cache_works_without_settings_of_its_own(name: str) -> None:
    small = SMALL_PIPELINES["flux"]
    pipeline = small.build()
    enable_cache(pipeline, parse_cache(name), small.arguments())
    assert pipeline.transformer.is_cache_enabled
    pipeline(**small.arguments())


def test_faster_cache_gets_the_layout_of_frames() -> None:
    for name, layout in (("flux", "BCHW"), ("cogvideox", "BFCHW"), ("wan-2.1", "BCFHW")):
        pipeline = SMALL_PIPELINES[name].build()
        enable_cache(pipeline, parse_cache("faster"), {})
        assert pipeline.transformer._cache_config.tensor_format == layout


def test_mag_cache_knows_the_steps_of_the_call() -> None:
    pipeline = SMALL_PIPELINES["flux"].build()
    enable_cache(pipeline, parse_cache("mag"), {"num_inference_steps": 6})
    assert pipeline.transformer._cache_config.num_inference_steps == 6


def test_a_cache_that_needs_more_says_so_in_its_own_words() -> None:
    pipeline = SMALL_PIPELINES["wan-2.1"].build()
    with pytest.raises(PipelineError, match=r"transformer cannot use the cache mag: .*mag_ratios"):
        enable_cache(pipeline, parse_cache("mag"), {})


def test_a_denoiser_without_caches_is_rejected_before_its_weights_are_looked_for(tmp_path: Path) -> None:
    folder = saved("stable-diffusion", tmp_path / "model")
    with pytest.raises(RequestError, match="diffusers has none for its UNet2DConditionModel"):
        load_pipeline(folder, cache="first_block")


def test_a_cache_that_finds_nothing_to_skip_is_rejected() -> None:
    if "text_kv" not in known_caches():
        pytest.skip("the installed diffusers has no such cache")
    with pytest.raises(RequestError, match="does nothing in a FluxTransformer2DModel"):
        enable_cache(SMALL_PIPELINES["flux"].build(), parse_cache("text_kv"), {})


@pytest.mark.parametrize("text", ["first_block:0.1", "first-block:0.1", "first_block:threshold=0.1"])
def test_a_number_alone_is_the_first_setting(text: str) -> None:
    assert parse_cache(text).settings == {"threshold": 0.1}


def test_only_some_caches_decide_by_values() -> None:
    assert is_decided_by_values("first-block:0.1")
    assert not is_decided_by_values("taylorseer:2")
