"""Models that are published in a dtype that an accelerator lacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import diffprof
from diffprof.advice.dtypes import dtype_assumption, dtype_on
from diffprof.catalogue.accelerators import Accelerator, find_accelerator
from diffprof.record.profile import Profile


@pytest.mark.parametrize(
    ("model", "dtype", "gpus", "expected"),
    [
        ("flux.1-dev", None, ["t4"], "float16"),
        ("flux.1-dev", None, ["t4", "v100-sxm2-32gb"], "float16"),
        ("flux.1-dev", None, ["t4", "h100-sxm"], None),
        ("flux.1-dev", "float32", ["t4"], "float32"),
        ("sdxl", None, ["t4"], None),
        (Path("some/folder"), None, ["t4"], None),
        (object(), None, ["t4"], None),
        ("flux.1-dev", None, [], None),
    ],
)
def test_float16_takes_the_place_of_bfloat16_where_nobody_asked_for_a_dtype(
    model: object, dtype: str | None, gpus: list[str], expected: str | None
) -> None:
    assert dtype_on(model, dtype, [find_accelerator(name) for name in gpus]) == expected


def accelerator_with(*dtypes: str) -> Accelerator:
    peaks = find_accelerator("l4").peak_flops_per_second
    return replace(find_accelerator("l4"), peak_flops_per_second={dtype: peaks[dtype] for dtype in dtypes})


@pytest.mark.parametrize(
    ("model", "peaks", "expected"),
    [
        ("sdxl", ("float32", "bfloat16"), "bfloat16"),
        ("sdxl", ("float32",), "float32"),
        ("flux.1-dev", ("float32", "float16"), "float16"),
        ("flux.1-dev", ("int8",), None),
        ("sdxl", ("float32", "float16"), None),
    ],
)
def test_a_dtype_that_the_accelerator_has_is_taken(model: str, peaks: tuple[str, ...], expected: str | None) -> None:
    assert dtype_on(model, None, [accelerator_with(*peaks)]) == expected


def test_no_dtype_is_suggested_that_the_accelerator_lacks(small: Profile) -> None:
    own = replace(small, request=replace(small.request, model="sdxl", dtype=None))
    assert dtype_assumption(own, accelerator_with("float32", "bfloat16")) == (
        "l4 does not compute in float16: products are emulated, slowly; count it in bfloat16"
    )
    taken = replace(own, request=replace(own.request, dtype="bfloat16"))
    assert (dtype_assumption(taken, accelerator_with("bfloat16")) or "").endswith("bfloat16 is taken")


@pytest.fixture(scope="module")
def small() -> Profile:
    return diffprof.profile("shapes", num_inference_steps=1)


@pytest.mark.parametrize(("dtype", "words"), [("float16", "float16 is taken"), ("bfloat16", "emulated, slowly")])
def test_what_was_taken_instead_is_said(dtype: str, words: str, small: Profile) -> None:
    request = replace(small.request, model="flux.1-dev", dtype=dtype)
    profile = replace(small, request=request)
    assert words in (dtype_assumption(profile, find_accelerator("t4")) or "")
    assert dtype_assumption(profile, find_accelerator("l4")) is None
    assert dtype_assumption(small, find_accelerator("t4")) is None
