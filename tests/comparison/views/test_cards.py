"""What changed between two profiles, as cards."""

from __future__ import annotations

from diffprof.comparison import compare
from diffprof.comparison.views.cards import comparison_cards
from tests.render.report.reports import words
from tests.sample_profiles import everything_measured, stable_diffusion


def test_counts_that_changed_say_from_what_to_what() -> None:
    cards = words(comparison_cards(compare([stable_diffusion(), stable_diffusion(unet_calls=11)], ["old", "new"])))
    assert "-61.3 % 10.1 T MACs instead of 26.2 T" in " ".join(cards.split())
    assert "equal 1.29B parameters in both" in " ".join(cards.split())


def test_what_was_measured_comes_first_and_takes_the_place_of_counted_memory() -> None:
    cards = comparison_cards(compare([everything_measured(), everything_measured()], ["old", "new"]))
    assert cards.index("time: ") < cards.index("memory: ") < cards.index("MACs")
    assert "at the peak" not in cards


def test_more_than_two_have_a_table_instead() -> None:
    assert comparison_cards(compare([stable_diffusion()] * 3, ["a", "b", "c"])) == ""
