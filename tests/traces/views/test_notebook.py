"""A trace prints as the command shows it, and as HTML in a notebook."""

from __future__ import annotations

from diffprof.render.console import render_text
from diffprof.traces.views.console import print_trace
from tests.traces.conftest import Explain
from tests.traces.trace_builder import two_denoising_steps


def test_a_trace_prints_as_the_command_shows_it(explain_built: Explain) -> None:
    explanation = explain_built(two_denoising_steps())
    assert str(explanation) == render_text(lambda console: print_trace(explanation, console), 100)


def test_a_notebook_shows_the_headline_and_the_tables(explain_built: Explain) -> None:
    html = explain_built(two_denoising_steps())._repr_html_()

    assert "The GPU was busy 49.4 % of 810 us" in html
    assert html.count("<table>") >= 4


def test_a_trace_is_one_line_in_a_list(explain_built: Explain) -> None:
    assert repr(explain_built(two_denoising_steps())).endswith("trace.json: 39 events>")
