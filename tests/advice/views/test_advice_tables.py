"""Advice as tables."""

from __future__ import annotations

from dataclasses import replace

from diffprof.advice.views.advice_tables import advice_blocks, code_block, options_block, summary_block
from diffprof.render.columns import Column
from tests.advice.views.answers import ADVICE, QUICK, SAFE


def cells(columns: list[Column]) -> dict[str, list[str]]:
    return {column.heading: list(column.cells) for column in columns}


def test_the_summary_names_the_best_and_the_best_without_a_risk() -> None:
    requested, tried, best, safe = summary_block(ADVICE).lines
    assert requested == "as requested: 8.0 s, 10.00 GiB as nvidia-smi shows it; it does not fit"
    assert tried == "272 options tried"
    assert best == "fastest: 20 steps + batch 4, 4.0 s each, 6.00 GiB; quality risk: medium"
    assert safe == "fastest without quality risk: offload model, 12 s each, 10.00 GiB"


def test_nothing_that_fits_is_said() -> None:
    advice = replace(ADVICE, options=(), nearest=(SAFE, QUICK))
    assert summary_block(advice).lines[-3:] == [
        "none of them fits within the limits",
        "smallest of all: offload model, 12 s each, 10.00 GiB",
        "fastest that fits the device: 20 steps + batch 4, 4.0 s each, 6.00 GiB",
    ]
    assert [block.title for block in advice_blocks(advice)][1:] == [""], "no table without a row"


def test_figures_of_an_option_are_those_of_one_result() -> None:
    columns = cells(list(options_block(ADVICE).columns))
    assert columns["option"] == [QUICK.name, SAFE.name]
    assert columns["speed-up"][0] == "2.00x"
    assert columns["energy"] == ["200 J", "800 J"]
    assert columns["price"] == ["$0.0050", "$0.020"]


def test_a_column_that_nobody_knows_is_left_out() -> None:
    unknown = replace(QUICK, energy_joules=None, price_usd=None)
    assert not {"energy", "price"} & cells(list(options_block(replace(ADVICE, options=(unknown,))).columns)).keys()


def test_only_risks_that_occur_are_explained() -> None:
    assert [line.partition(":")[0] for line in options_block(ADVICE).after] == ["risk none", "risk medium"]


def test_code_can_be_copied_and_says_how_to_have_its_figures() -> None:
    assert code_block(QUICK).code == [
        "import torch", "result = pipe()", "# diffprof fit sdxl", "# diffprof predict sdxl",
    ]  # fmt: skip


def test_a_console_shows_the_code_of_a_few() -> None:
    many = replace(ADVICE, options=(QUICK,) * 5)
    assert "--verbose shows the code of 2 more" in advice_blocks(many)[-1].lines[0]
    assert len([block for block in advice_blocks(many, verbose=True) if block.code]) == 5
    assert advice_blocks(many, verbose=True)[-1].lines == ["- one", "- two"]
