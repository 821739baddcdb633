"""Profiles and runs in a notebook (HTML) and in Python's ``print`` (text): what the commands show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diffprof.record.profile import Profile
from diffprof.render.blocks import Block
from diffprof.render.profile_blocks import counted_blocks, measured_blocks
from diffprof.render.profile_console import profile_text as counted_text
from diffprof.render.report.html_table import html_table
from diffprof.render.report.markup import Markup, code_lines, element
from diffprof.render.run_console import run_text
from diffprof.render.run_sentences import describe_limitation

# Colours come from the notebook's theme, so that it is readable in light and in dark ones.
STYLE = Markup("""
.diffprof { line-height: 1.4; }
.diffprof h4 { margin: .8em 0 .2em; font-size: 1em; }
.diffprof p { margin: .1em 0; max-width: 70em; }
.diffprof .scroll { overflow-x: auto; margin: .5em 0; }
.diffprof table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.diffprof table :is(th, td) { padding: .15em .8em .15em 0; text-align: left; border: 0; background: none;
  white-space: nowrap; }
.diffprof table :is(th, td).right { text-align: right; }
.diffprof table td.wrap { white-space: normal; min-width: 16em; }
.diffprof table thead th { border-bottom: 1px solid color-mix(in srgb, currentColor 40%, transparent); }
.diffprof table tr.total td { border-top: 1px solid color-mix(in srgb, currentColor 40%, transparent); }
.diffprof .below { display: block; opacity: .7; }
.diffprof .bar { display: inline-block; width: 6em; height: .6em; margin-left: .5em; }
.diffprof .bar span { display: block; height: 100%; background: #4c8bf5; }
""")


def profile_text(profile: Profile) -> str:
    """The text that ``diffprof show`` prints for the profile."""
    return run_text(profile) if profile.measured is not None else counted_text(profile)


def profile_notebook(profile: Profile) -> str:
    """The profile as HTML: measurements if it has any, else counts."""
    return blocks_html(measured_blocks(profile) if profile.measured is not None else counted_blocks(profile))


def runs_text(run: Any) -> str:
    """The text of every profile of a run, one below the other."""
    return "\n\n".join(
        [run_text(profile) for profile in run.profiles]
        or ["nothing was measured", *map(describe_limitation, run.limitations)]
    )


def runs_notebook(run: Any) -> str:
    """Every profile of a run as HTML, one below the other."""
    blocks = [block for profile in run.profiles for block in measured_blocks(profile)]
    return blocks_html(blocks or [Block("Nothing was measured", [*map(describe_limitation, run.limitations)])])


def blocks_html(blocks: Sequence[Block]) -> str:
    """Blocks as one HTML element, with its style."""
    return element("div", element("style", STYLE), *(_block_html(block) for block in blocks), class_="diffprof")


def _block_html(block: Block) -> Markup:
    title = [element("h4", block.title)] if block.title else []
    lines, after = ([element("p", line) for line in some if line] for some in (block.lines, block.after))
    code = [code_lines(block.code)] if block.code else []
    return element("div", *title, *lines, html_table(block.columns, block.has_total), *after, *code)
