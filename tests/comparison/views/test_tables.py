"""The blocks of a comparison."""

from __future__ import annotations

from dataclasses import replace

from diffprof.comparison import compare
from diffprof.comparison.parts import OPERATION, PartChange
from diffprof.comparison.views.console import print_comparison
from diffprof.comparison.views.tables import blocks
from diffprof.render.console import render_text
from tests.comparison.views.comparisons import compare_as_letters, console_text, fewer_steps
from tests.sample_profiles import hostile, stable_diffusion


def test_differing_conditions_come_before_any_number() -> None:
    shown = console_text(fewer_steps())
    differs = shown.index("requested num_inference_steps: 30 / 20")
    answer = shown.index("No, the requests differ (num_inference_steps)")
    assert shown.index("Can they be compared?") < answer < differs < shown.index("Counted")
    assert "Yes: request, dtypes, versions and device are the same." in console_text(
        compare_as_letters(stable_diffusion(), stable_diffusion())
    )


def test_equal_profiles_are_exactly_the_same() -> None:
    assert "Exactly the same: every metric, call, operation and module." in console_text(
        compare_as_letters(stable_diffusion(), stable_diffusion())
    )


def test_the_rows_that_are_left_out_are_counted() -> None:
    comparison = compare_as_letters(hostile(), stable_diffusion())
    cut = render_text(lambda console: print_comparison(comparison, console, 1), 110)
    assert "more: --json and --csv have all." in cut


def test_changes_of_the_pipelines_own_code_are_one_message() -> None:
    same = compare([stable_diffusion()] * 2, ["a", "b"])
    own = [PartChange(OPERATION, "pipeline", name, None, None) for name in ("add", "mul")]
    for parts, sentence in (
        (own[:1], "1 operation of its own code differs,"),
        (own, "2 operations of its own code differ,"),
    ):
        compared = replace(same, pairs=(replace(same.pairs[0], parts=tuple(parts)),))
        assert any(sentence in line for block in blocks(compared) for line in block.lines)


def test_only_the_long_tables_of_parts_are_folded() -> None:
    folded = [block.title for block in blocks(fewer_steps()) if block.folded]
    assert folded
    assert set(folded) <= {"Calls", "Operations", "Modules"}
