"""Predicted times as tables."""

from __future__ import annotations

from dataclasses import replace

from diffprof.advice.views.prediction_tables import (
    PredictionTable,
    accelerator_block,
    blocks,
    component_block,
    kind_block,
)
from diffprof.record.run_settings import RunSettings
from diffprof.render.blocks import Block
from tests.advice.views.answers import PREDICTION, predicted_time


def cells(block: Block) -> dict[str, list[str]]:
    return {column.heading: list(column.cells) for column in block.columns}


def test_the_fastest_accelerator_comes_first() -> None:
    columns = cells(accelerator_block(PREDICTION))
    assert columns["accelerator"] == ["h100-sxm", "l4"]
    assert columns["expected"] == ["2.0 s", "8.0 s"]
    assert columns["interval"][1] == "7.2 s to 9.6 s"
    assert not {"price", "fits"} & columns.keys()  # nobody asked


def test_components_and_kinds_have_a_column_for_each_accelerator() -> None:
    assert cells(component_block(PREDICTION)) == {
        "component": ["unet", "vae"], "l4": ["6.0 s", "2.0 s"], "h100-sxm": ["1.5 s", "500 ms"],
    }  # fmt: skip
    assert cells(kind_block(PREDICTION))["kind"] == ["linear", "norm"]


def test_more_accelerators_than_columns_are_counted() -> None:
    many = replace(PREDICTION, accelerators={f"gpu-{n}": predicted_time(n + 1) for n in range(10)})
    assert component_block(many).after == ["and 2 more accelerators"]
    assert component_block(many, most=9).after == ["and 1 more accelerator"]


def test_all_accelerators_have_columns_where_nothing_limits_them() -> None:
    many = replace(PREDICTION, accelerators={f"gpu-{n}": predicted_time(n + 1) for n in range(10)})
    _, *parts, _ = blocks(many, most=None)
    assert [(len(block.columns), block.after) for block in parts] == [(11, []), (11, [])]


def test_the_settings_are_said() -> None:
    settings = RunSettings(offload="model", compiled=True, devices=2, quantize={"*": "torchao:int8"}, skip_rate=0.25)
    (line,) = accelerator_block(replace(PREDICTION, settings=settings)).lines
    assert line.startswith(
        "predicted for diffusers, compiled, model offload, 2 devices, components in torchao:int8, "
        "25.0 % of the denoiser's calls skipped;"
    )


def test_one_table_can_be_chosen_and_assumptions_listed() -> None:
    (table, rest) = blocks(PREDICTION, PredictionTable.kind)
    assert table.title == "By kind of operation"
    assert rest.lines == ["2 assumptions: --verbose lists them."]
    assert blocks(PREDICTION, verbose=True)[-1].lines == ["- one", "- two"]
