"""The dtypes of products in words."""

from __future__ import annotations

from diffprof.render.dtypes import describe_mix


def test_one_dtype_is_named_alone_and_several_with_their_shares() -> None:
    assert describe_mix({"bfloat16": 1000, "float32": 1}) == "bfloat16"
    assert describe_mix({"bfloat16": 931, "float32": 69}) == "bfloat16 93.1 % and float32 6.9 %"
    assert describe_mix({}) == ""
