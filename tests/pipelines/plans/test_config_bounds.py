"""Values that no model has are refused before a library uses them, and published ones are not."""

from __future__ import annotations

import pytest

from diffprof.errors import RequestError
from diffprof.pipelines.plans.config_bounds import MAX_DEPTH, check_name, check_values


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"num_train_timesteps": 10**6}, "num_train_timesteps is 1,000,000"),
        ({"max_new_tokens": 10**6}, "max_new_tokens is 1,000,000"),
        ({"num_layers": 2**31}, "num_layers is 2,147,483,648"),
        ({"levels": 10**7}, "levels is 10,000,000"),
        ({"extra_ids": 2**31}, "extra_ids is 2,147,483,648"),
        ({"hidden_size": 2**63}, "hidden_size is a larger number"),
        ({"hidden_size": -(2**63)}, "hidden_size is a larger number"),
        ({"scale": 1e300}, "scale is 1e+300"),
        ({"model_max_length": 32_000_000}, "model_max_length is 32,000,000"),
        ({"a": ["b", {"c": "\ud800"}]}, "lone surrogate"),
        ({"\udfff": 1}, "lone surrogate"),
        ({"a": "x\0y"}, "a null character"),
        (nested(MAX_DEPTH + 1), "nested more than 64 deep"),
    ],
)
def test_what_no_model_has_is_named(values: object, words: str) -> None:
    with pytest.raises(RequestError) as refused:
        check_values(values, "config.json")
    assert words in str(refused.value)
    assert "config.json" in str(refused.value)


@pytest.mark.parametrize(
    "values",
    [
        {"model_max_length": 1000000000000000019884624838656},
        {"model_max_length": 131_072, "rope_theta": 1_000_000_000, "max_pixels": 12_845_056, "vocab_size": 262_208},
        {"sigma_max": float("inf"), "num_train_timesteps": 1000, "a": nested(MAX_DEPTH - 1), "é": "日本"},
        {"is_on": True, "nothing": None},
    ],
)
def test_what_published_models_have_passes(values: object) -> None:
    check_values(values, "config.json")


def test_a_name_that_no_file_can_have_is_refused_in_few_words() -> None:
    check_name("text_encoder_2", "model_index.json")
    with pytest.raises(RequestError, match="with 5,000 characters") as refused:
        check_name("a" * 5000, "model_index.json")
    assert len(str(refused.value)) < 200
