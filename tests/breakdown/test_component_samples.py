"""Samples and what was counted for them."""

from __future__ import annotations

from diffprof.breakdown.component_samples import component_samples, counted_calls
from diffprof.record.measured import Iteration, Sample, Span
from tests.sample_profiles import TEXT_ENCODER_MACS, UNET_MACS, measured_profile

SPAN = Span(0, 1)


def test_a_call_inside_one_of_the_same_component_is_part_of_it() -> None:
    samples = (
        Sample("encode_prompt", SPAN),
        Sample("text_encoder_forward", SPAN, "text_encoder", parent=0),
        Sample("text_encoder_inner", SPAN, "text_encoder", parent=1),
        Sample("image_encoder_forward", SPAN, "image_encoder", parent=1),
    )
    found = component_samples(Iteration(0, SPAN, samples))
    assert [sample.section for sample in found] == ["text_encoder_forward", "image_encoder_forward"]


def test_each_sample_has_the_call_that_was_counted_for_it() -> None:
    profile = measured_profile()
    calls = counted_calls(profile, [Sample("a", SPAN, "text_encoder", call=0), Sample("b", SPAN, "unet", call=2)])
    assert calls is not None
    assert [call.macs for call in calls] == [TEXT_ENCODER_MACS, UNET_MACS]


def test_one_that_was_not_counted_makes_the_sum_unknown() -> None:
    samples = [Sample("a", SPAN, "unet", call=2), Sample("b", SPAN, "unet")]
    assert counted_calls(measured_profile(), samples) is None
