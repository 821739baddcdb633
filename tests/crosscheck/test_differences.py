"""What a tool missed and what it counted besides add up to what its count is off by."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from diffprof.crosscheck.differences import CountDifference, crosscheck_table, differences
from diffprof.crosscheck.result import (
    ATTENTION,
    CONVOLUTIONS,
    DIFFPROF,
    MATRIX_PRODUCTS,
    NORMS,
    OTHER,
    REAL_PRODUCTS,
    RESAMPLING,
    SOFTMAX,
    SQUARED,
    Count,
    Crosscheck,
)

TRUTH = {MATRIX_PRODUCTS: 100, CONVOLUTIONS: 50, ATTENTION: 30}


def test_an_equal_count_has_no_differences() -> None:
    assert differences(TRUTH, TRUTH) == ()


def test_missed_parts_are_listed_with_the_largest_first() -> None:
    assert differences(TRUTH, {MATRIX_PRODUCTS: 100, NORMS: 7}) == (
        CountDifference(CONVOLUTIONS, -50),
        CountDifference(ATTENTION, -30),
        CountDifference(NORMS, 7),
    )


def test_attention_that_was_seen_as_plain_products_was_not_missed() -> None:
    assert differences(TRUTH, {MATRIX_PRODUCTS: 130, CONVOLUTIONS: 50}) == ()
    assert differences(TRUTH, {MATRIX_PRODUCTS: 110, CONVOLUTIONS: 50}) == (CountDifference(ATTENTION, -20),)
    assert differences(TRUTH, {MATRIX_PRODUCTS: 90, ATTENTION: 50, CONVOLUTIONS: 50}) == (
        CountDifference(ATTENTION, 10),
    )


amounts = st.integers(0, 10**15)
counts = st.dictionaries(
    st.sampled_from([*REAL_PRODUCTS, NORMS, SOFTMAX, RESAMPLING, SQUARED, OTHER]), amounts, max_size=8
)


@given(truth=st.fixed_dictionaries(dict.fromkeys(REAL_PRODUCTS, amounts)), counted=counts)
def test_the_differences_add_up(truth: dict[str, int], counted: dict[str, int]) -> None:
    off = sum(counted.values()) - sum(truth.values())
    assert sum(difference.macs for difference in differences(truth, counted)) == off


def test_a_tool_without_a_count_has_a_row_without_numbers() -> None:
    crosscheck = Crosscheck(
        "model", "unet", "UNet", "forward", "sample 1x4", 7,
        (Count(DIFFPROF, "diffprof", 180, TRUTH), Count("thop", "thop", reason="thop is not installed")),
    )  # fmt: skip
    ours, missing = crosscheck_table(crosscheck)
    assert (ours.share, ours.differences) == (1.0, ())
    assert (missing.share, missing.differences) == (None, ())
