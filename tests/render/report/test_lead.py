"""The top of a report: one sentence and the most important numbers."""

from __future__ import annotations

from diffprof.render.report.lead import cards, lead
from tests.sample_profiles import everything_measured, nothing, stable_diffusion


def test_the_sentence_has_the_cost_and_the_costliest_component() -> None:
    assert lead(stable_diffusion()) == (
        "One generation costs 26.2 TMACs (52.5 TFLOPs; exactly 26,234,368,094,208 MACs); "
        "95.0 % of that is unet in 31 calls."
    )


def test_a_measured_run_begins_with_its_time() -> None:
    assert lead(everything_measured()).startswith("One generation took ")
    assert " It costs " in lead(everything_measured())


def test_a_profile_of_nothing_says_so() -> None:
    assert lead(nothing()) == "Nothing was counted for this generation."


def test_cards_of_measured_profiles_have_their_throughput() -> None:
    assert "end to end" not in cards(stable_diffusion())
    assert "end to end" in cards(everything_measured())
    assert "peak device memory" in cards(everything_measured())


def test_the_first_card_is_the_time_if_it_was_measured_else_the_cost_with_its_memory() -> None:
    assert cards(everything_measured()).index("per generation") < cards(everything_measured()).index("TMACs")
    counted = cards(stable_diffusion())
    assert counted.count("TFLOPs") == 1
    assert "<b>95.0 %</b><span>of the MACs are unet, in 31 calls</span>" in counted
    assert "GiB at the peak: all weights, the largest activations" in counted
