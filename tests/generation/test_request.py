"""A request is completed before anything is loaded."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.generation.request import RANDOM_SEEDS, complete, parse_size, seed_of
from diffprof.record.request import Request


def test_a_seed_is_chosen_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request("shapes", {"prompt": "a cat"})
    assert 0 <= seed_of(complete(request)) < RANDOM_SEEDS
    monkeypatch.setenv("DIFFPROF_DEFAULT_SEED", "5")
    assert complete(request).seed == 5
    assert complete(Request("shapes", seed=0)).seed == 0


def test_a_complete_request_stays_as_it_is() -> None:
    request = complete(Request("shapes", {"prompt": "a cat", "width": 64, "height": 64}, scheduler="euler"))
    assert complete(request) == request


def test_a_request_without_a_seed_is_not_complete() -> None:
    with pytest.raises(ValueError, match="the request has no seed; `complete` adds one"):
        seed_of(Request("shapes"))


def test_a_seed_can_stand_among_the_arguments() -> None:
    request = complete(Request("shapes", {"seed": 3}))
    assert (request.seed, request.arguments) == (3, {})


def test_arguments_that_were_not_given_are_left_out() -> None:
    request = complete(Request("shapes", {"prompt": "a cat", "width": None, "height": None, "callback": None}, seed=1))
    assert request.arguments == {"prompt": "a cat", "callback": None}


def test_one_side_is_enough_where_the_settings_have_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RequestError, match="a width of 64 was given without a height; give both, or neither"):
        complete(Request("shapes", {"width": 64}))
    monkeypatch.setenv("DIFFPROF_DEFAULT_HEIGHT", "64")
    assert complete(Request("shapes", {"width": 64}, seed=1)).arguments == {"width": 64}


@pytest.mark.parametrize(
    ("request_of", "sentence"),
    [
        ({"arguments": {"prompt": " "}}, "the prompt is empty; describe the image"),
        ({"arguments": {"negative_prompt": ["a"]}}, "negative_prompt is a list; give one text for one image"),
        ({"arguments": {"latents": None}}, "latents cannot be set by the caller"),
        ({"arguments": {"batch_size": 2}}, "one image is generated at a time; leave batch_size out"),
        ({"arguments": {"seed": -1}}, "seed must be a whole number from 0"),
        ({"arguments": {"seed": 1}, "seed": 1}, "The call argument seed is given twice"),
        ({"enable": ("vae_tiling",)}, "switches and random weights are for measuring"),
        ({"random_weights": True}, "switches and random weights are for measuring"),
    ],
)
def test_what_no_model_could_generate_is_rejected(request_of: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        complete(Request("shapes", **request_of))


def test_a_size_is_a_preset_or_two_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_SIZE_PRESETS", "stamp=48x32")
    assert (parse_size("stamp"), parse_size("64x32"), parse_size("64")) == ((48, 32), (64, 32), (64, 64))
    with pytest.raises(RequestError, match="there is no size 'stam'; give one such as 512x768"):
        parse_size("stam")
