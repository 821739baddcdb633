"""Growth read off a law."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from diffprof.advice.scale import CurvePoint, FramesPoint, scale_model, simplify
from diffprof.laws.variables import Variable
from diffprof.record.request import Request


def test_a_polynomial_is_written_in_the_numbers_where_divisions_come_out_even() -> None:
    height, frames = Variable("height", 8), Variable("num_frames", 4, -1)
    polynomial = {((height.name, 2),): Fraction(128), ((frames.name, 1),): Fraction(4)}
    assert simplify(polynomial, (height, frames)) == {(("height", 2),): 2, (("num_frames", 1),): 1, (): -1}


def test_shares_of_nothing_are_nothing() -> None:
    assert CurvePoint(8, 8, 0, 0, 0, 0).attention_share == FramesPoint(1, 0, 0).attention_share == 0
    assert FramesPoint(1, 400, 100).attention_share == 0.25


def test_a_law_gives_the_published_step_and_grows_less_than_the_square() -> None:
    scaling = scale_model(Request.create("sd-2.1-base", {"num_inference_steps": 30}))
    (point,) = [point for point in scaling.curve if point.height == 512]
    assert point.step_macs == 804_257_464_320
    assert 4 < scaling.doubled["height and width"] < 16
    assert scaling.doubled["num_inference_steps"] < 2
    assert scaling.counted_because is None
    assert scaling.resolution_power is not None and 2 < scaling.resolution_power < 4
    assert replace(scaling, curve=scaling.curve[:1]).resolution_power is None


def test_attention_is_half_from_the_side_that_is_said() -> None:
    scaling = scale_model(Request.create("sd-2.1-base", {"num_inference_steps": 30}))
    for point in scaling.curve:
        assert scaling.half_attention_side is not None
        assert (point.attention_share > 0.5) is (point.height >= scaling.half_attention_side)
