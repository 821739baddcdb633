"""Amounts of memory as people write them."""

from __future__ import annotations

import pytest

from diffprof.advice.sizes import memory_option, parse_memory
from diffprof.errors import RequestError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("24GB", 24 * 1024**3),
        ("24 GiB", 24 * 1024**3),
        ("1.5g", 3 * 512 * 1024**2),
        ("2097152", 2**21),
        (7, 7),
        (None, None),
    ],
)
def test_an_amount_is_bytes_in_powers_of_1024(text: str | int | None, size: int | None) -> None:
    assert parse_memory("--memory", text) == size


def test_a_small_number_without_a_unit_is_not_taken_for_bytes() -> None:
    with pytest.raises(RequestError, match="an amount of memory with its unit, such as 12GB, not '12'"):
        parse_memory("--memory", "12")


@pytest.mark.parametrize("text", ["much", "-1GB", "24XB", "0", 0, -5, True, "1e3", "2000000T"])
def test_what_is_no_amount_is_refused(text: str | int) -> None:
    with pytest.raises(RequestError, match="--memory must be"):
        parse_memory("--memory", text)


@pytest.mark.parametrize("text", ["24GB", "1TB", "1536MB", "25769803777"])
def test_an_amount_is_written_into_a_command_as_a_user_writes_it(text: str) -> None:
    assert memory_option("--memory", parse_memory("--memory", text)) == ["--memory", text]


def test_an_amount_that_was_not_given_is_left_out_of_a_command() -> None:
    assert memory_option("--ram", None) == []
