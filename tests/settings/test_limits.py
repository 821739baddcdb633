"""The bounds of numbers and the names of dtypes."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.settings.limits import CALL_NUMBERS, LIMITS, dtype_name, with_full_names


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [("height", "512", 512), ("height", " 1 ", 1), ("guidance_scale", "7", 7.0), ("seed", str(2**63 - 1), 2**63 - 1)],
)
def test_a_number_is_read_from_text(name: str, text: str, number: float) -> None:
    parsed = LIMITS[name].parse(text)
    assert (parsed, type(parsed)) == (number, type(number))


@pytest.mark.parametrize("text", ["0", "16385", "many", "5.5", "1e3", "٣", "", "1_0", "9" * 5000])
def test_text_that_is_not_a_whole_number_within_the_bounds_is_rejected(text: str) -> None:
    with pytest.raises(RequestError, match=r"^--height must be a whole number from 1 to 16,384, not"):
        LIMITS["height"].parse(text, "--height")


@pytest.mark.parametrize("value", [True, 5.0, "5", None, [5]])
def test_a_value_of_another_type_is_not_a_whole_number(value: Any) -> None:
    with pytest.raises(RequestError, match="num_frames must be a whole number from 1 to 100,000"):
        LIMITS["num_frames"].check(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "7"])
def test_a_scale_is_a_finite_number(value: Any) -> None:
    with pytest.raises(RequestError, match="guidance_scale must be a number"):
        LIMITS["guidance_scale"].check(value)


def test_every_number_of_a_call_has_a_limit() -> None:
    assert set(CALL_NUMBERS) <= set(LIMITS)


class Dtype:
    def __str__(self) -> str:
        return "torch.float8_e4m3fn"


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("fp16", "float16"),
        ("Half", "float16"),
        ("torch.bfloat16", "bfloat16"),
        (Dtype(), "float8_e4m3fn"),
        (None, None),
    ],
)
def test_a_dtype_has_one_full_name(dtype: Any, name: str | None) -> None:
    assert dtype_name(dtype) == name


def test_an_unknown_dtype_is_rejected() -> None:
    with pytest.raises(RequestError, match="Unknown dtype 'int3'; use float32, float16 or bfloat16"):
        dtype_name("int3")


def test_short_names_of_the_command_line_become_those_of_the_call() -> None:
    named = with_full_names({"steps": 3, "guidance": 2.0, "batch": 2, "frames": 9, "prompt": "a cat"})
    assert named == {
        "num_inference_steps": 3,
        "guidance_scale": 2.0,
        "num_images_per_prompt": 2,
        "num_frames": 9,
        "prompt": "a cat",
    }


def test_one_argument_under_two_names_is_refused() -> None:
    with pytest.raises(RequestError, match="num_inference_steps are the same call argument; leave one out"):
        with_full_names({"num_inference_steps": 3, "steps": 4})


@pytest.mark.parametrize("name", ["guidance_scale", "num_inference_steps"])
def test_a_number_too_large_for_a_fraction_is_refused(name: str) -> None:
    with pytest.raises(RequestError, match=f"{name} must be"):
        LIMITS[name].check(10**400)
