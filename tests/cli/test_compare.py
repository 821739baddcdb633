"""``diffprof compare`` from the shell."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from PIL import Image

from diffprof.profiles.files import to_json
from tests.cli.conftest import Engine, Run
from tests.profiles_made_by_hand import measured_profile, stable_diffusion


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    """Thirty steps and twenty."""
    before = stable_diffusion().save(tmp_path / "before.json")
    after = stable_diffusion(steps=20, unet_calls=21).save(tmp_path / "after.json.gz")
    return str(before), str(after)


def test_saved_profiles_by_their_short_names(two: tuple[str, str], run: Run, engine: Engine) -> None:
    ended = run("compare", *two)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("before against after\n")
    assert "asked num_inference_steps: 30 / 20" in ended.out
    assert engine.requests == [], "nothing is counted"


def test_a_model_is_counted_as_it_was_asked_for(two: tuple[str, str], run: Run, engine: Engine) -> None:
    ended = run("compare", two[1], "sd-2.1-base", "--steps", "30", "--set", "eta=0.5", "--dtype", "fp16")
    assert ended.code == 0
    assert ended.out.startswith("after against sd-2.1-base\n")
    assert engine.asked["model"] == "sd-2.1-base"
    assert (engine.asked["num_inference_steps"], engine.asked["eta"], engine.asked["dtype"]) == (30, 0.5, "float16")


def test_the_folder_that_a_run_left_is_its_profile(run: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        measured_profile().save(tmp_path / name / "profiling_report.json")
    ended = run("compare", str(tmp_path / "one"), str(tmp_path / "two"))
    assert ended.out.startswith("one against two\n")
    assert "Measured" in ended.out


def test_the_same_name_twice_is_told_apart(two: tuple[str, str], run: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = str(stable_diffusion().save(tmp_path / "other" / "before.json"))
    assert run("compare", two[0], other).out.startswith(f"{tmp_path.name}/before against other/before\n")
    assert run("compare", two[0], two[0]).out.startswith("before (1) against before (2)\n")


def test_json_csv_and_markdown(two: tuple[str, str], run: Run) -> None:
    assert json.loads(run("compare", *two, "--json").out)["format"] == {"name": "diffprof-comparison", "version": 1}
    rows = list(csv.DictReader(io.StringIO(run("compare", *two, "--csv").out)))
    assert [row["name"] for row in rows] == ["before", "after"]
    totals = list(csv.DictReader(io.StringIO(run("compare", *two, "--csv", "--by", "total").out)))
    assert totals[0]["figure"] == "macs"
    assert run("compare", *two, "--markdown").out.startswith("## before against after\n")


def test_three_have_one_table(two: tuple[str, str], run: Run) -> None:
    ended = run("compare", *two, two[0])
    assert ended.out.startswith("3 profiles, each against before (1)\n")
    assert "MACs of the components" in ended.out


def test_pictures_beside_the_profiles_or_given(two: tuple[str, str], run: Run, tmp_path: Path) -> None:
    Image.new("RGB", (16, 16), "red").save(tmp_path / "before.png")
    Image.new("RGB", (16, 16), "blue").save(tmp_path / "after.png")
    assert "PSNR" in run("compare", *two).out
    given = [argument for name in ("before.png", "before.png") for argument in ("--picture", str(tmp_path / name))]
    target = tmp_path / "row.png"
    ended = run("compare", *two, *given, "--side-by-side", str(target))
    assert "identical, pixel by pixel" in ended.out
    assert ended.err == f"Wrote {target}\n"
    assert Image.open(target).size == (40, 16)
    (tmp_path / "after.png").unlink()
    assert "PSNR" not in run("compare", *two).out, "only where both have one"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{before}"], "needs two profiles or models or more"),
        (["{before}", "{after}", "--json", "--csv"], "exclude each other"),
        (["{before}", "{after}", "--by", "total"], "--by chooses the table for --csv"),
        (["{before}", "{after}", "--top", "0"], "--top must be 1 or more"),
        (["{before}", "{after}", "--picture", "a.png"], "--picture is given 1 times for 2 profiles"),
        (["{before}", "{after}", "--picture", "no.png", "--picture", "no.png"], "Cannot read the picture no.png"),
        (["{before}", "{after}", "--side-by-side", "x.png"], "needs the pictures of two profiles"),
        (["{before}", "missing.json"], "Cannot read missing.json: No such file or directory"),
        (["{before}", "no-such-model"], "no-such-model"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    arguments: list[str], sentence: str, two: tuple[str, str], run: Run, engine: Engine
) -> None:
    ended = run("compare", *[argument.format(before=two[0], after=two[1]) for argument in arguments])
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert sentence in ended.err
    assert engine.requests == []


def test_files_that_are_no_profiles_of_this_version_are_one_sentence_each(
    two: tuple[str, str], run: Run, tmp_path: Path
) -> None:
    newer = to_json(stable_diffusion())
    newer["format"]["version"] = 99
    contents = {
        "foreign.json": ('{"a": 1}', "not a diffprof profile"),
        "broken.json": ("{", "not valid JSON"),
        "newer.json": (json.dumps(newer), "format version 99, this diffprof reads up to 1; upgrade diffprof"),
    }
    for name, (content, sentence) in contents.items():
        (tmp_path / name).write_text(content)
        ended = run("compare", two[0], str(tmp_path / name))
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert sentence in ended.err
