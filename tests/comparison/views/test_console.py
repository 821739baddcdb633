"""A comparison on the console and as Markdown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from diffprof.comparison import Comparison
from diffprof.comparison.views.console import comparison_markdown
from tests.comparison.views.comparisons import EVERY, compare_as_letters, console_text, fewer_steps, two_runs
from tests.sample_profiles import hostile, measured_profile, stable_diffusion


def test_fewer_steps_look_as_they_should(golden: Callable[[str, str], None]) -> None:
    golden("fewer_steps.txt", console_text(fewer_steps()))
    golden("fewer_steps.md", comparison_markdown(fewer_steps()))


def test_two_runs_look_as_they_should(golden: Callable[[str, str], None]) -> None:
    golden("two_runs.txt", console_text(two_runs()))


def test_three_profiles_look_as_they_should(golden: Callable[[str, str], None]) -> None:
    golden(
        "three.txt",
        console_text(
            compare_as_letters(stable_diffusion(), stable_diffusion(steps=20, unet_calls=21), measured_profile())
        ),
    )


@pytest.mark.parametrize("comparison", EVERY)
@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(comparison: Callable[[], Comparison], width: int) -> None:
    assert all(len(line) <= width for line in console_text(comparison(), width).splitlines())


def test_names_from_outside_stay_names() -> None:
    evil = replace(
        hostile(), request=replace(hostile().request, arguments={"prompt": "<script>alert(1)</script> | *b* `c`"})
    )
    shown = comparison_markdown(compare_as_letters(stable_diffusion(), evil))
    assert "<script>" not in shown
    assert "\x1b" not in shown and "\x1b" not in console_text(compare_as_letters(stable_diffusion(), evil))
    assert r"\[red\]evil\[/red\]" in shown
    assert "[red]evil[/red]" in console_text(compare_as_letters(stable_diffusion(), evil), 200)
    table = [line for line in shown.splitlines() if line.startswith("| ") and "component" in line]
    assert table
