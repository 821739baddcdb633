"""How a pipeline is prepared is checked once, whichever way it is written."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.record.preparation import Preparation
from diffprof.record.request import Request


def test_nothing_is_prepared_where_nothing_was_requested() -> None:
    assert Preparation.create() == Preparation()
    assert Preparation().ranks == 1
    assert Preparation().texts == {}


@pytest.mark.parametrize(
    ("given", "expected", "text"),
    [
        ({"compile": True}, Preparation(compile="whole"), {"compile": "whole"}),
        ({"compile": False}, Preparation(), {}),
        ({"compile": "regional"}, Preparation(compile="regional"), {"compile": "regional"}),
        ({"device_map": "balanced"}, Preparation(device_map={"*": "balanced"}), {"device_map": "balanced"}),
        (
            {"device_map": "unet=cuda:0, vae=cuda:1"},
            Preparation(device_map={"unet": "cuda:0", "vae": "cuda:1"}),
            {"device_map": "unet=cuda:0,vae=cuda:1"},
        ),
        ({"parallel": "ulysses=2,ring=3"}, Preparation(parallel={"ulysses": 2, "ring": 3}),
         {"parallel": "ulysses=2,ring=3"}),
        ({"parallel": {"tensor": 4}}, Preparation(parallel={"tensor": 4}), {"parallel": "tensor=4"}),
        ({"revision": "refs/pr/7", "variant": "fp16"}, Preparation(revision="refs/pr/7", variant="fp16"),
         {"revision": "refs/pr/7", "variant": "fp16"}),
    ],
)  # fmt: skip
def test_every_way_to_write_it_means_the_same(
    given: dict[str, Any], expected: Preparation, text: dict[str, str]
) -> None:
    assert Preparation.create(**given) == expected == Request.create("shapes", **given).preparation
    assert expected.texts == text


def test_the_ranks_are_the_product_of_the_degrees() -> None:
    assert Preparation.create(parallel="ulysses=2,ring=3").ranks == 6


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"compile": "fast"}, "compile is whole or regional, not 'fast'"),
        ({"device_map": "cuda"}, "device_map is balanced, or devices by component"),
        ({"device_map": "vae=cpu,vae=cuda"}, "device_map has vae twice"),
        ({"parallel": "cfg=2"}, "parallel is ulysses=N, ring=N, both, or tensor=N"),
        ({"parallel": "ulysses=1"}, "with N from 2"),
        ({"parallel": "ulysses=two"}, "with N from 2"),
        ({"parallel": "ring=2,ring=2"}, "parallel has ring twice"),
        ({"parallel": "tensor=2,ring=2"}, "does not combine tensor"),
        ({"revision": "../../secret"}, "revision is a branch, a tag or a commit"),
        ({"variant": "../fp16"}, "variant is a part of a file's name"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(RequestError, match=said):
        Preparation.create(**given)
