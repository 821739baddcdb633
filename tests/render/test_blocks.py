"""Blocks of text and tables, for a console and for Markdown."""

from __future__ import annotations

from diffprof.render.blocks import Block, markdown, print_blocks
from diffprof.render.columns import Column
from diffprof.render.console import render_text

TABLE = [Column("name", ["a_b", "<x>"], justify="left"), Column("n", ["1\nmore", "2"])]
BLOCKS = [
    Block("A title", ["one line"]),
    Block("", columns=TABLE, after=["the end"]),
]


def test_blocks_are_separated_by_an_empty_line_on_the_console() -> None:
    lines = render_text(lambda console: print_blocks(BLOCKS, console), 60).splitlines()
    assert lines[:3] == ["A title", "one line", ""]
    assert lines[-1] == "the end"


def test_markdown_has_headings_lists_and_tables() -> None:
    assert markdown(BLOCKS) == (
        "## A title\n\n- one line\n\n| name | n |\n| --- | ---: |\n| a\\_b | 1, more |\n| &lt;x> | 2 |\n\n- the end\n"
    )


def test_no_name_becomes_markup() -> None:
    assert markdown([Block("# @team [x](y) `z` | *b* ~s~")]) == (
        "## \\# \\@team \\[x\\](y) \\`z\\` \\| \\*b\\* \\~s\\~\n"
    )


def test_code_is_neither_wrapped_nor_listed_so_that_it_can_be_copied() -> None:
    line = "pipe = " + "x" * 100
    block = [Block("How", code=["import torch", line])]
    assert render_text(lambda console: print_blocks(block, console), 60).splitlines() == ["How", "import torch", line]
    assert markdown(block) == f"## How\n\n```python\nimport torch\n{line}\n```\n"


def test_a_fence_is_longer_than_any_inside_of_it() -> None:
    assert markdown([Block(code=["# ```` x"])]) == "`````python\n# ```` x\n`````\n"
