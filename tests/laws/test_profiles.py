"""The profile of a request that was no sample, against what is worked out by hand."""

from __future__ import annotations

from typing import Any

from diffprof.laws.profiles import GivenCall, compose_profile
from diffprof.record.profile import LAW, Placement, Profile
from diffprof.record.sizes import ResizedOutput
from tests.laws.small_program import small_program

VERSIONS = {"torch": "2.8.0", "diffusers": "0.42.1", "transformers": "5.22.0"}
STEPS = 11
TOKENS = 25 * 21


def profile_of(height: int = 200, width: int = 168, **arguments: Any) -> Profile:
    filled = small_program().at({"height": height, "width": width, "num_inference_steps": STEPS})
    given = {"height": height, "width": width, "num_inference_steps": STEPS, **arguments}
    return compose_profile(filled, GivenCall(given, ("num_inference_steps", "guidance_scale"), VERSIONS))


def test_every_step_is_a_call_and_the_total_is_their_sum() -> None:
    profile = profile_of()
    assert profile.total.macs == STEPS * 64 * TOKENS
    assert (profile.steps.count, profile.steps.macs) == (STEPS, 64 * TOKENS)
    assert [call.step for call in profile.calls] == [*range(STEPS), None]
    (stage,) = profile.steps.stages
    assert (stage.scheduler, stage.denoisers) == ("DDIMScheduler", ("transformer",))


def test_calls_of_equal_cost_share_it() -> None:
    profile = profile_of()
    assert len({id(call.cost) for call in profile.calls}) == 2
    assert profile.calls[0].inputs[0].shapes == ((1, TOKENS, 4),)


def test_components_have_their_weights_and_the_peak_of_their_calls() -> None:
    part = profile_of().components["transformer"]
    assert (part.calls, part.parameters, part.weight_bytes_by_dtype) == (STEPS, 32, {"float16": 64})
    assert part.peak_live_bytes == 24 * TOKENS
    assert [module.path for module in part.modules] == ["blocks.0", "blocks.1"]


def test_the_ledger_names_what_has_no_formula() -> None:
    ledger = profile_of().ledger
    assert (ledger.executed_ops, ledger.known_ops, ledger.unknown) == (5 * STEPS, 4 * STEPS, {"fancy": STEPS})
    assert ledger.moved_bytes - ledger.known_bytes == STEPS * 16 * TOKENS


def test_a_stand_in_is_an_assumption_unless_it_was_given() -> None:
    assert profile_of().ledger.assumptions == (
        "prompt was not given: 'a photo' stands in", "The tokenizer is a stand-in.",
    )  # fmt: skip
    given = profile_of(prompt="a cat")
    assert given.ledger.assumptions == ("The tokenizer is a stand-in.",)
    assert given.request.arguments["prompt"] == "a cat"


def test_the_request_says_what_was_given_and_what_was_not() -> None:
    request = profile_of().request
    assert request.defaults == {"eta": 0.0, "prompt": "a photo", "height": 200, "width": 168}
    assert request.recommended == ("num_inference_steps",)


def test_a_size_that_is_not_made_is_said() -> None:
    assert profile_of().resized == ()
    assert profile_of(height=203).resized == (ResizedOutput("height", 203, 200),)


def test_the_rest_is_as_the_samples_had_it() -> None:
    profile = profile_of()
    assert (profile.placement, profile.counted_by) == (Placement(("transformer",), ()), LAW)
    assert (profile.texts[0].tokens, profile.texts[0].length) == (7, 77)
    assert profile.computed_size is None
