"""What each tool missed, as a table, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json

from diffprof.crosscheck.result import ATTENTION
from diffprof.crosscheck.views import crosscheck_csv, crosscheck_json, print_crosscheck
from diffprof.render.console import render_text
from tests.crosscheck.crosschecks import FIVE_TOOLS, PARTS


def console_text(width: int) -> str:
    return render_text(lambda console: print_crosscheck(FIVE_TOOLS, console), width)


def test_the_table_says_what_each_tool_missed() -> None:
    shown = console_text(200)
    assert "sd-2.1-base · one call of unet (UNet2DConditionModel, 865.91M parameters)" in shown
    assert "cross-attention as N²: 2.00 GMACs; softmax counted as 1.00 GMACs; norms counted as 742.54 MMACs" in shown
    assert "missed 126.05 GMACs of attention" in shown
    assert "84.3 %" in shown
    assert "calflops is not installed" in shown
    assert "too large: it takes about 48.50 GB, and 20.00 GB are free" in shown
    assert "1,203 s" in shown


def test_a_narrow_terminal_keeps_the_numbers_whole() -> None:
    shown = console_text(60)
    assert "804.26 GMACs" in shown
    assert max(map(len, shown.splitlines()[3:-4])) <= 60


def test_csv_has_exact_numbers() -> None:
    rows = list(csv.DictReader(io.StringIO(crosscheck_csv(FIVE_TOOLS))))
    assert [row["tool"] for row in rows] == ["diffprof", "thop-sdpa", "calflops", "fvcore", "torch-cpu"]
    assert (rows[0]["macs"], rows[0]["missed"]) == ("804257464320", "0")
    assert (rows[4]["missed"], rows[4]["counted_besides"]) == ("126052270080", "0")
    assert (rows[2]["macs"], rows[2]["share"]) == ("", "")


def test_json_has_the_share_and_the_differences_of_each_tool() -> None:
    values = json.loads(crosscheck_json(FIVE_TOOLS))
    assert (values["model"], values["component"]) == ("sd-2.1-base", "unet")
    counts = {count["tool"]: count for count in values["counts"]}
    assert (counts["diffprof"]["share"], counts["diffprof"]["differences"]) == (1.0, [])
    assert counts["torch-cpu"]["share"] == 678_205_194_240 / sum(PARTS.values())
    assert counts["torch-cpu"]["differences"] == [{"part": ATTENTION, "macs": -126_052_270_080}]
    assert (counts["calflops"]["share"], counts["calflops"]["reason"]) == (None, "calflops is not installed")
