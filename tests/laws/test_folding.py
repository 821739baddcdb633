"""Sequences with loops for their repetitions."""

from __future__ import annotations

import pytest

from diffprof.laws.folding import LOOP, NegativeCount, fold, unfold


def test_what_is_repeated_becomes_a_loop() -> None:
    assert fold(["a", "b", "c", "b", "c", "b", "c", "d"]) == ("a", (LOOP, 3, ("b", "c")), "d")


def test_sequences_that_differ_in_the_number_of_repetitions_differ_in_one_count() -> None:
    short, long = (fold(["start", *["x", "y", "y"] * steps, "end"]) for steps in (4, 7))
    assert short == ("start", (LOOP, 4, ("x", (LOOP, 2, ("y",)))), "end")
    assert long == ("start", (LOOP, 7, ("x", (LOOP, 2, ("y",)))), "end")


@pytest.mark.parametrize("sequence", [[], [1], [1, 1], [1, 2, 1, 2, 1], [3, 1, 1, 2, 1, 1, 2, 4, 4, 4]])
def test_unfolding_gives_the_sequence_back(sequence: list[int]) -> None:
    assert unfold(fold(sequence)) == sequence


def test_a_loop_of_less_than_nothing_is_refused() -> None:
    with pytest.raises(NegativeCount):
        unfold(((LOOP, -1, ("a",)),))
