"""``diffprof scale``"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diffprof.advice import scale
from tests.cli.conftest import Run


def test_the_law_is_printed_as_a_formula_a_table_and_in_words(run: Run) -> None:
    ended = run("scale", "sd-2.1-base")
    assert ended.code == 0
    assert "text_encoder = 45,127,233,536" in ended.out
    assert "(4x the pixels) takes 5.76x the compute, not 16x." in ended.out
    assert "From 1280 x 1280 on" in ended.out


def test_json_has_the_curve_to_the_integer(run: Run) -> None:
    data = json.loads(run("scale", "sd-2.1-base", "--steps", "30", "--json").out)
    point = next(point for point in data["curve"] if point["height"] == 512)
    assert point["step_macs"] == 804_257_464_320
    assert data["half_attention_side"] == 1280


def test_the_curve_is_written_as_csv_and_a_page(run: Run, tmp_path: Path) -> None:
    assert run("scale", "sd-2.1-base", "-o", str(tmp_path / "curve.csv")).code == 0
    assert (tmp_path / "curve.csv").read_text().startswith("height,width,macs,step_macs,attention_macs,")
    assert run("scale", "sd-2.1-base", "-o", str(tmp_path / "curve.html")).code == 0
    assert "sd-2.1-base" in (tmp_path / "curve.html").read_text()


def test_a_written_file_is_named_unless_nothing_is_to_be_said(run: Run, tmp_path: Path) -> None:
    file = str(tmp_path / "curve.md")
    assert run("scale", "sd-2.1-base", "-o", file).err == f"Wrote {file}\n"
    assert run("scale", "sd-2.1-base", "-o", file, "-q").err == ""
    assert run("scale", "sd-2.1-base", "--markdown").out == (tmp_path / "curve.md").read_text()


def test_what_has_no_law_is_counted_at_a_few_sizes(run: Run) -> None:
    ended = run("scale", "shapes")
    assert ended.code == 0
    assert "No law of shapes was proved: these sizes were counted one by one." in ended.out
    assert "1024 x 1024" in ended.out


def test_without_torch_what_has_no_law_is_refused_in_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "can_count", lambda: False)
    ended = run("scale", "shapes")
    assert ended.code == 2
    assert "o law of shapes was proved, and counting needs torch" in ended.err
    ended = run("scale", "sd-2.1-base", "--height", "100", "--width", "100")
    assert ended.code == 2
    assert "was proved for height of 256 to 2,048 in steps of 8, not for 100" in ended.err
