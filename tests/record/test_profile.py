"""A profile adds up: work, totals, steps, and what calls share."""

from __future__ import annotations

from diffprof.record.profile import NO_WORK, AttentionSite, Stage, Steps, Work
from tests.sample_profiles import UNET_CALLS, UNET_MACS, nothing, stable_diffusion


def test_work_is_added_and_repeated_exactly() -> None:
    work = Work(3, 5, 7, 11)
    assert work + work == work * 2 == Work(6, 10, 14, 22)
    assert (work.flops, work.moved_bytes) == (6, 18)
    assert sum([work] * 3, NO_WORK) == work * 3


def test_a_total_is_the_sum_of_its_components() -> None:
    profile = stable_diffusion()
    parts = profile.components.values()
    assert profile.total.macs == sum(part.macs for part in parts) == sum(call.macs for call in profile.calls)
    assert profile.total.flops == 2 * profile.total.macs
    assert profile.total.other_flops == sum(call.other_flops for call in profile.calls)
    assert profile.total.calls == len(profile.calls)
    assert nothing().total.work == NO_WORK


def test_the_macs_of_a_step_are_those_of_the_most_frequent_one() -> None:
    assert Stage("DDIMScheduler", ("unet",), (5, 9, 9, 7)).macs == 9
    assert Stage("DDIMScheduler", ("unet",), (5, 9)).macs == 5, "the first of them when tied"
    assert Stage("DDIMScheduler", ("unet",), ()).macs == 0


def test_the_main_stage_is_the_one_with_most_macs() -> None:
    prior, decoder = Stage("Prior", ("prior",), (2,) * 10), Stage("Decoder", ("decoder",), (15,) * 2)
    steps = Steps((prior, decoder))
    assert (steps.main, steps.count, steps.macs) == (decoder, 2, 15)
    assert (Steps().main, Steps().count, Steps().macs) == (None, 0, 0)


def test_each_distinct_cost_comes_once_with_the_number_of_its_calls() -> None:
    costs = {call.component: (times, call.macs) for call, times in stable_diffusion().costs()}
    assert costs["unet"] == (UNET_CALLS, UNET_MACS)
    assert [costs["text_encoder"][0], costs["vae"][0]] == [2, 1]


def test_attention_knows_its_site_without_its_cost() -> None:
    call = next(call for call in stable_diffusion().calls if call.component == "unet")
    site = call.cost.attention[1].site
    assert type(site) is AttentionSite
    assert (site.relation, site.query_tokens, site.key_tokens) == ("cross", 4_096, 77)
