"""Counted calls matched with measured ones, in order."""

from __future__ import annotations

from typing import Any

from diffprof.record.measured import CountMismatch, Iteration, Sample, Span
from diffprof.record.profile import Call
from diffprof.runtime.instrumentation.alignment import align_calls

COST: Any = None  # the cost of a call plays no part in it


def iteration(*sections: tuple[str, str | None]) -> Iteration:
    samples = tuple(Sample(section, Span(0, 1), component) for section, component in sections)
    return Iteration(0, Span(0, 1), samples)


def call(component: str, method: str = "forward") -> Call:
    return Call(component, method, (), None, COST)


def test_each_call_of_a_component_has_the_number_of_its_count() -> None:
    measured = iteration(
        ("encode_prompt", None),
        ("text_encoder_forward", "text_encoder"),
        ("unet_forward", "unet"),
        ("vae_decode", "vae"),
    )
    calls = [call("text_encoder"), call("unet"), call("vae", "decode")]
    result, mismatch = align_calls(measured, calls)
    assert [sample.call for sample in result.samples] == [None, 0, 1, 2]
    assert mismatch is None


def test_a_method_that_executed_nothing_has_no_number() -> None:
    measured = iteration(("vae_enable_tiling", "vae"), ("vae_decode", "vae"))
    result, mismatch = align_calls(measured, [call("vae", "decode")])
    assert [sample.call for sample in result.samples] == [None, 0]
    assert mismatch is None


def test_a_forward_pass_that_was_not_counted_is_named() -> None:
    result, mismatch = align_calls(iteration(("unet_forward", "unet")), [call("vae", "decode")])
    assert [sample.call for sample in result.samples] == [None]
    assert mismatch == CountMismatch(0, uncounted=("unet_forward",))


def test_after_a_difference_nothing_is_matched() -> None:
    measured = iteration(("unet_forward", "unet"), ("vae_decode", "vae"), ("unet_forward", "unet"))
    result, mismatch = align_calls(measured, [call("unet"), call("unet"), call("vae", "decode")])
    assert [sample.call for sample in result.samples] == [0, None, None]
    assert mismatch == CountMismatch(1, "vae_decode")
