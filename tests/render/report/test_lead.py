"""The top of a report: one sentence and the most important numbers."""

from __future__ import annotations

from diffprof.render.report.lead import cards, lead
from tests.sample_profiles import everything_measured, nothing, stable_diffusion


def test_the_sentence_has_the_cost_and_the_costliest_component() -> None:
    assert lead(stable_diffusion()) == (
        "One generation costs 26.23 TMACs (52.47 TFLOPs); 95.0 % of that is unet in 31 calls."
    )


def test_a_measured_run_adds_its_time() -> None:
    assert " It took " in lead(everything_measured())


def test_a_profile_of_nothing_says_so() -> None:
    assert lead(nothing()) == "Nothing was counted for this generation."


def test_cards_have_exact_counts_and_measured_ones_their_throughput() -> None:
    assert "exactly 26,234,368,094,208" in cards(stable_diffusion())
    assert "end to end" not in cards(stable_diffusion())
    assert "end to end" in cards(everything_measured())
    assert "peak device memory" in cards(everything_measured())
