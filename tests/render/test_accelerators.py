"""The catalogue of accelerators as it looks, and as programs read it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from diffprof.catalogue.accelerators import DTYPES, Accelerator, find_accelerator
from diffprof.render.accelerators import (
    COLUMNS,
    accelerator_json,
    accelerators_csv,
    accelerators_json,
    print_accelerator,
    print_accelerators,
)

SMALL = Accelerator(
    name="small",
    reported_names=("Small GPU", "Small GPU VF"),
    maker="Me",
    architecture="own",
    memory_bytes=24 * 2**30,
    bandwidth_bytes_per_second=1.5e12,
    peak_flops_per_second={"float32": 12.34e12, "float16": 1307.4e12, "int8": 2614.9e12},
    source="the datasheet",
)
FULL = replace(
    SMALL,
    name="full",
    aliases=("whole",),
    multiprocessors=304,
    l2_cache_bytes=132644864,
    board_power_watts=750.0,
    host_link="PCIe 5.0 x16",
    host_link_bytes_per_second=63015384615.38,
    sources={"l2_cache_bytes": "a device query", "float16": "the whitepaper"},
)


def rendered_text(show: Callable[[Console], None], width: int) -> str:
    console = Console(width=width, file=io.StringIO(), legacy_windows=False)
    with console.capture() as captured:
        show(console)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


@pytest.mark.parametrize("width", [60, 100, 140])
def test_the_list_as_it_looks(width: int, golden: Callable[[str, str], None]) -> None:
    text = rendered_text(lambda console: print_accelerators([FULL, SMALL], console), width)
    golden(f"accelerators-{width}.txt", text)


@pytest.mark.parametrize("entry", [FULL, SMALL], ids=lambda entry: entry.name)
def test_an_accelerator_as_it_looks(entry: Accelerator, golden: Callable[[str, str], None]) -> None:
    # The achieved rates change with every fit; tests/render/test_achieved_rates.py tests them.
    text, _, reached = rendered_text(lambda console: print_accelerator(entry, console), 100).partition(
        "\nAchieved rates"
    )
    golden(f"accelerator-{entry.name}.txt", text)
    assert reached


def test_every_number_that_is_known_has_its_source_beside_it() -> None:
    entry = find_accelerator("h100-sxm")
    lines = rendered_text(lambda console: print_accelerator(entry, console), 40).splitlines()
    (line,) = (line for line in lines if line.startswith("peak in float16"))
    assert line.split() == ["peak", "in", "float16", "989.5", "TFLOP/s", "NVIDIA", "H100", "datasheet", "(SXM)"]


def test_a_hostile_name_cannot_drive_the_terminal() -> None:
    hostile = replace(SMALL, reported_names=("\x1b[31mred",), source="\x1b]0;title\x07")
    text = rendered_text(lambda console: print_accelerator(hostile, console), 100)
    assert "[31mred" in text
    assert "\x1b" not in text


def test_json_has_every_field_and_null_for_what_is_not_known() -> None:
    values = json.loads(accelerator_json(SMALL))
    assert values.pop("reached")["family"] == "own"
    assert values["peak_flops_per_second"] == SMALL.peak_flops_per_second
    assert values["l2_cache_bytes"] is None
    assert values["reported_names"] == ["Small GPU", "Small GPU VF"]
    assert set(values) == set(vars(SMALL))
    assert json.loads(accelerators_json([FULL, SMALL]))[1] == values


def test_csv_has_a_column_for_the_peak_in_each_dtype() -> None:
    full, small = csv.DictReader(io.StringIO(accelerators_csv([FULL, SMALL])))
    assert list(full) == list(COLUMNS)
    assert float(full["float16_flops_per_second"]) == 1307.4e12
    assert (small["tf32_flops_per_second"], small["multiprocessors"]) == ("", "")
    assert all(f"{dtype}_flops_per_second" in COLUMNS for dtype in DTYPES)
