"""A model is loaded with all of its weights by its library, or refused with the file that does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from diffprof.errors import DiffprofError, RequestError, UnsafeModelError
from diffprof.pipelines.loading.folder_loading import _name, _without_bars
from diffprof.pipelines.loading.weights import load_pipeline
from tests.pipelines.loadable import TEXT, UNET
from tests.pipelines.refusals import Damage, change_config, write_file


def without(file: str, ending: str) -> Damage:
    """A whole file that lacks one weight."""

    def damage(model: Path) -> None:
        weights = load_file(model / file)
        kept = {name: weight for name, weight in weights.items() if not name.endswith(ending)}
        assert len(kept) == len(weights) - 1
        save_file(kept, model / file, {"format": "pt"})

    return damage


MISFITTING: dict[str, tuple[Damage, type[DiffprofError], tuple[str, ...]]] = {
    "a weight that is not there": (
        without(UNET, "conv_in.bias"),
        RequestError,
        (UNET, "does not fit", "needs conv_in.bias"),
    ),
    "a text weight that is not there": (
        without(TEXT, "final_layer_norm.weight"),
        RequestError,
        (TEXT, "does not fit", "final_layer_norm.weight"),
    ),
    "a config with wider layers": (
        change_config("unet", block_out_channels=[64, 64]),
        RequestError,
        (UNET, "unet/config.json"),
    ),
    "a config with more layers": (change_config("unet", layers_per_block=3), RequestError, (UNET, "unet/config.json")),
    "a text config with wider layers": (change_config("text_encoder", intermediate_size=64), RequestError, (TEXT,)),
    "an adapter on another model": (
        write_file("text_encoder/adapter_config.json", b'{"base_model_name_or_path": "someone/else"}'),
        UnsafeModelError,
        ("adapter_config.json",),
    ),
}


@pytest.mark.parametrize(("damage", "kind", "words"), MISFITTING.values(), ids=MISFITTING.keys())
def test_weights_that_do_not_fit_the_model_are_rejected_with_the_file(
    damage: Damage, kind: type[DiffprofError], words: tuple[str, ...], model_with_weights: Path
) -> None:
    damage(model_with_weights)
    with pytest.raises(kind) as refusal:
        load_pipeline(model_with_weights)
    assert [word for word in words if word not in str(refusal.value)] == []
    assert type(refusal.value) is kind


def test_the_progress_bars_of_the_libraries_are_off_only_while_a_model_is_loaded() -> None:
    from diffusers.utils import logging

    before = logging.is_progress_bar_enabled()
    logging.enable_progress_bar()
    try:
        with _without_bars():
            assert not logging.is_progress_bar_enabled()
        assert logging.is_progress_bar_enabled()
    finally:
        if not before:
            logging.disable_progress_bar()


@pytest.mark.parametrize(
    ("key", "name"), [("conv_in.weight", "conv_in.weight"), (("conv_in.weight", (4, 3), (4, 2)), "conv_in.weight")]
)
def test_a_weight_of_another_shape_goes_by_its_name(key: Any, name: str) -> None:
    assert _name(key) == name
