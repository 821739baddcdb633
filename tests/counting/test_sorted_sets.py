"""Sets that are gone through in the same order in every process."""

from __future__ import annotations

import sys

import pytest

from diffprof.counting.sorted_sets import SortedSet, sort_sets
from diffprof.pipelines.patching import Patches

GEMMA, MASKS = "transformers.models.gemma3.modeling_gemma3", "transformers.masking_utils"


def test_a_set_of_strings_is_gone_through_in_alphabetical_order() -> None:
    names = ["sliding_attention", "full_attention", "sliding_attention", "chunked_attention"]
    assert list(SortedSet(names)) == ["chunked_attention", "full_attention", "sliding_attention"]


def test_it_is_a_set_in_all_else() -> None:
    made = SortedSet("cab")
    made.discard("b")
    made.add("aa")
    assert (made, list(made), len(made), "b" in made) == ({"a", "aa", "c"}, ["a", "aa", "c"], 3, False)
    assert made | {"q"} == {"a", "aa", "c", "q"}
    assert isinstance({1}, SortedSet) and not isinstance([1], SortedSet)
    assert (SortedSet(), sorted(SortedSet([2, 1]))) == (set(), [1, 2])
    assert list(SortedSet([None, "b", "a"])) == ["a", "b", None]


def test_code_of_transformers_has_it_as_long_as_the_dry_run_takes() -> None:
    pytest.importorskip("transformers")
    from transformers import Gemma3ForConditionalGeneration

    patches = Patches()
    sort_sets(patches, [Gemma3ForConditionalGeneration.__new__(Gemma3ForConditionalGeneration), object()])
    assert all(vars(sys.modules[name])["set"] is SortedSet for name in (GEMMA, MASKS))
    patches.undo()
    assert not any("set" in vars(sys.modules[name]) for name in (GEMMA, MASKS))
