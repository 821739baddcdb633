"""What a comparison writes, and which options it refuses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.conftest import Engine, Run


def test_json_csv_and_markdown(two: tuple[str, str], run: Run) -> None:
    assert json.loads(run("compare", *two, "--json").out)["format"] == {"name": "diffprof-comparison", "version": 1}
    rows = list(csv.DictReader(io.StringIO(run("compare", *two, "--csv").out)))
    assert [row["name"] for row in rows] == ["before", "after"]
    totals = list(csv.DictReader(io.StringIO(run("compare", *two, "--csv", "--by", "total").out)))
    assert totals[0]["figure"] == "macs"
    assert run("compare", *two, "--markdown").out.startswith("## before against after\n")


def test_images_lie_beside_the_profiles_or_are_given(two: tuple[str, str], run: Run, tmp_path: Path) -> None:
    Image.new("RGB", (16, 16), "red").save(tmp_path / "before.png")
    Image.new("RGB", (16, 16), "blue").save(tmp_path / "after.png")
    assert "before.png and after.png: PSNR" in run("compare", *two).out, "by name, however long the path is"
    given = [argument for name in ("before.png", "before.png") for argument in ("--picture", str(tmp_path / name))]
    target = tmp_path / "row.png"
    ended = run("compare", *two, *given, "--side-by-side", str(target))
    assert "before.png and before.png: identical, pixel by pixel" in ended.out
    assert ended.err == f"Wrote {target}\n"
    with Image.open(target) as row:
        assert row.size == (40, 16)
    (tmp_path / "after.png").unlink()
    assert "PSNR" not in run("compare", *two).out, "only where both have one"


def test_a_page_has_the_images_and_the_charts(two: tuple[str, str], run: Run, engine: Engine, tmp_path: Path) -> None:
    Image.new("RGB", (16, 16), "red").save(tmp_path / "before.png")
    Image.new("RGB", (16, 16), "blue").save(tmp_path / "after.png")
    target = tmp_path / "page.html"
    plain = run("compare", *two)
    ended = run("compare", *two, "--html", str(target))
    assert (ended.code, ended.out, ended.err) == (0, plain.out, f"Wrote {target}\n")
    page = target.read_text(encoding="utf-8")
    assert "<h1>before against after</h1>" in page
    assert page.count('<img src="data:image/png;base64,') == 2
    assert "<figcaption>before.png</figcaption>" in page
    assert "<h2>Where the cost goes</h2>" in page
    assert "How the cost grows" not in page, "one point of each says nothing about growth"
    assert engine.requests == [], "saved profiles are read, not counted again"


def test_a_page_that_cannot_be_written_is_rejected_before_anything_is_counted(
    two: tuple[str, str], run: Run, engine: Engine, tmp_path: Path
) -> None:
    ended = run("compare", two[0], "sd-2.1-base", "--html", str(tmp_path / "no" / "page.html"))
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert "there is no folder" in ended.err
    assert engine.requests == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{before}"], "needs at least two profiles or models"),
        (["{before}", "{after}", "--json", "--csv"], "exclude each other"),
        (["{before}", "{after}", "--by", "total"], "--by selects the table for --csv"),
        (["{before}", "{after}", "--top", "0"], "--top must be 1 or more"),
        (["{before}", "{after}", "--picture", "a.png"], "--picture is given 1 times for 2 profiles"),
        (["{before}", "{after}", "--picture", "no.png", "--picture", "no.png"], "Cannot read the image no.png"),
        (["{before}", "{after}", "--html", "./x", "--side-by-side", "x"], "--html and --side-by-side name the same"),
        (["{before}", "{after}", "--side-by-side", "x.png"], "needs the images of at least two profiles"),
        (["{before}", "missing.json"], "Cannot read missing.json: No such file or directory"),
        (["{before}", "no-such-model"], "no-such-model"),
    ],
)
def test_a_wrong_request_is_rejected_with_one_message(
    arguments: list[str], sentence: str, two: tuple[str, str], run: Run, engine: Engine
) -> None:
    ended = run("compare", *[argument.format(before=two[0], after=two[1]) for argument in arguments])
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert sentence in ended.err
    assert engine.requests == []


def test_for_a_page_a_model_is_counted_at_more_sizes_and_steps(
    two: tuple[str, str], run: Run, engine: Engine, tmp_path: Path
) -> None:
    assert run("compare", two[0], "sd-2.1-base").code == 0
    assert [request.model for request in engine.requests] == ["sd-2.1-base"]
    assert run("compare", two[0], "sd-2.1-base", "--html", str(tmp_path / "page.html")).code == 0
    assert {request.model for request in engine.requests} == {"sd-2.1-base"}
    assert len(engine.requests) > 4
