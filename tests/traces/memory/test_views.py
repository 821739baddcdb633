"""A memory snapshot for people and as data."""

from __future__ import annotations

import json
from dataclasses import replace

from diffprof.render.console import render_text
from diffprof.traces.memory.views import (
    device_lines,
    print_snapshot,
    share_columns,
    snapshot_csv,
    snapshot_json,
    snapshot_markdown,
)
from tests.traces.memory.snapshots import DEVICE, FAILURE, MB


def failure_line(**changes: int) -> str:
    device = replace(DEVICE, failures=(FAILURE,), **changes)
    (line,) = [text for label, text in device_lines(device) if label == "Failed"]
    return line


def test_a_device_says_its_peak_and_what_is_reserved() -> None:
    lines = dict(device_lines(DEVICE))
    assert lines["Peak"] == "400.00 MB allocated at the peak"
    assert lines["Reserved"] == (
        "560.00 MB reserved at the end, of which 150.00 MB are allocated and 410.00 MB are not; "
        "the largest free block has 300.00 MB"
    )
    assert "Failed" not in lines


def test_without_a_history_the_peak_is_not_known() -> None:
    assert "the peak is not known" in dict(device_lines(replace(DEVICE, has_history=False)))["Peak"]


def test_a_failure_in_pieces_has_its_remedy() -> None:
    line = failure_line()
    assert line.startswith("400.00 MB were asked for by vae.py:9 forward in vae.decoder, with 150.00 MB allocated")
    assert "while the driver had 60.00 MB left" in line
    assert "410.00 MB were reserved and free, but in pieces: set" in line
    assert line.endswith("Allocated just before: 50.00 MB by vae.py:8 forward")


def test_a_failure_for_want_of_memory_has_none() -> None:
    assert "in pieces" not in failure_line(reserved_bytes=200 * MB)
    assert "in pieces" not in failure_line(largest_free_bytes=400 * MB)


def test_shares_are_of_the_peak_and_only_the_largest_are_shown() -> None:
    names, sizes, shares, _ = (list(column.cells) for column in share_columns("owner", DEVICE.owners, 400 * MB, 1))
    assert (names, sizes, shares) == (["denoiser"], ["300.00 MB"], ["75.0 %"])
    assert share_columns("owner", DEVICE.owners, 0, 1)[2].cells == [""]


def test_the_console_shows_the_calls_that_led_to_an_allocation() -> None:
    text = render_text(lambda console: print_snapshot([DEVICE], console, 5), 100)
    assert "    unet.py:7 forward\n    pipeline.py:2 __call__" in text
    assert "alone" not in text  # a line by itself is in the table
    empty = render_text(lambda console: print_snapshot([], console, 5), 100)
    assert empty.strip() == "The snapshot holds no device memory."


def test_markdown_has_the_lines_and_the_tables() -> None:
    text = snapshot_markdown([DEVICE], 5)
    assert text.startswith(f"## Device {DEVICE.device}\n\n- Peak: 400.00 MB allocated at the peak\n")
    assert "| owner | at the peak | share | allocations |" in text
    assert snapshot_markdown([], 5) == "## The snapshot holds no device memory.\n"


def test_csv_has_a_row_for_each_owner_module_and_line() -> None:
    first, *rows = snapshot_csv([DEVICE]).splitlines()
    assert first == "device,by,name,held_bytes,allocations"
    assert len(rows) == len(DEVICE.owners) + len(DEVICE.modules) + len(DEVICE.lines)
    assert rows[0].startswith(f"{DEVICE.device},owner,{DEVICE.owners[0].name},{DEVICE.owners[0].held_bytes},")


def test_json_has_everything() -> None:
    (device,) = json.loads(snapshot_json([DEVICE]))["devices"]
    assert (device["peak_bytes"], device["owners"][0]["name"]) == (400 * MB, "denoiser")
