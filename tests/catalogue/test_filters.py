"""Models are found by family, task, year and licence."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof import catalogue
from diffprof.catalogue.filters import ModelFilter
from diffprof.errors import RequestError

NOTHING: dict[str, Any] = {"family": None, "task": None, "year": None, "licence": None}


def names(word: str | None = None, **typed: str) -> set[str]:
    conditions = ModelFilter.parse(word, **{**NOTHING, **typed})
    return {entry.name for entry in conditions.select(catalogue.entries())}


def test_each_condition_narrows_the_list() -> None:
    flux = names(family="Flux")
    assert {"flux.1-dev", "flux.1-schnell", "flux.2-klein-4b", "flux.1-fill-dev"} <= flux
    assert "sdxl" not in flux
    assert names(family="flux", task="inpainting") == {"flux.1-fill-dev"}
    assert "flux.2-klein-4b" in names(family="flux", year="2026", licence="APACHE")
    assert names("kontext", family="flux") == {"flux.1-kontext-dev"}


@pytest.mark.parametrize(
    ("word", "typed", "message"),
    [
        (None, {"family": "fluxx"}, "There is no family 'fluxx'; did you mean flux?"),
        (None, {"task": "upscale"}, "There is no task 'upscale'; did you mean upscaling?"),
        (None, {"task": "qqq"}, "There is no task 'qqq'; there are text-to-image,"),
        (None, {"year": "25"}, "--year must be a year such as 2025, not '25'."),
        (None, {"family": "flux", "year": "2021"}, "No model meets all these conditions; leave one out."),
        ("sdlx", {}, "Unknown model 'sdlx'; did you mean sdxl"),
    ],
)
def test_a_condition_that_nothing_meets_is_refused(word: str | None, typed: dict[str, str], message: str) -> None:
    with pytest.raises(RequestError) as raised:
        names(word, **typed)
    assert message in str(raised.value)
