"""``diffprof compare`` from the shell."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from diffprof.errors import RequestError
from diffprof.record.files import to_json
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from tests.cli.conftest import Engine, Run
from tests.sample_profiles import measured_profile, stable_diffusion


def test_saved_profiles_by_their_short_names(two: tuple[str, str], run: Run, engine: Engine) -> None:
    ended = run("compare", *two)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("before against after\n")
    assert "requested num_inference_steps: 30 / 20" in ended.out
    assert engine.requests == [], "nothing is counted"


def test_a_model_is_counted_as_requested(two: tuple[str, str], run: Run, engine: Engine) -> None:
    ended = run("compare", two[1], "sd-2.1-base", "--steps", "30", "--set", "eta=0.5", "--dtype", "fp16")
    assert ended.code == 0
    assert ended.out.startswith("after against sd-2.1-base\n")
    assert engine.request.model == "sd-2.1-base"
    assert (engine.request.arguments, engine.request.dtype) == ({"num_inference_steps": 30, "eta": 0.5}, "float16")


def test_the_folder_that_a_run_left_is_its_profile(run: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        measured_profile().save(tmp_path / name / "profiling_report.json")
    ended = run("compare", str(tmp_path / "one"), str(tmp_path / "two"))
    assert ended.out.startswith("one against two\n")
    assert "Measured" in ended.out


def test_the_folder_of_one_generated_image_is_its_profile(run: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        measured_profile().save(tmp_path / name / "cat.profile.json")
    folders = str(tmp_path / "one"), str(tmp_path / "two")
    assert run("compare", *folders).out.startswith("one against two\n")
    measured_profile().save(tmp_path / "two" / "cat_2.profile.json")
    ended = run("compare", *folders)
    assert (ended.code, ended.out) == (2, "")
    assert f"two has 2 profiles in it; name one of them, such as {tmp_path / 'two' / 'cat.profile.json'}." in ended.err


def test_equal_names_are_numbered(two: tuple[str, str], run: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = str(stable_diffusion().save(tmp_path / "other" / "before.json"))
    assert run("compare", two[0], other).out.startswith(f"{tmp_path.name}/before against other/before\n")
    assert run("compare", two[0], two[0]).out.startswith("before (1) against before (2)\n")


def test_a_file_and_the_model_it_is_named_after_are_distinguished(
    run: Run, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stable_diffusion().save("sdxl.json")
    assert run("compare", "sdxl.json", "sdxl").out.startswith("sdxl (1) against sdxl (2)\n")


def test_three_have_one_table(two: tuple[str, str], run: Run) -> None:
    ended = run("compare", *two, two[0])
    assert ended.out.startswith("3 profiles, each against before (1)\n")
    assert "MACs of the components" in ended.out


def test_models_in_a_page_are_counted_over_size_and_steps(
    two: tuple[str, str], run: Run, engine: Engine, tmp_path: Path
) -> None:
    target = tmp_path / "page.html"
    assert run("compare", two[0], "sd-2.1-base", "--dtype", "fp16", "--html", str(target), "-q").err == ""
    first, *later = [request.arguments for request in engine.requests]
    assert "width" not in first
    assert {request.dtype for request in engine.requests} == {"float16"}
    assert {arguments["width"] for arguments in later if "width" in arguments} == {256, 384, 512, 640, 768}
    steps = {arguments["num_inference_steps"] for arguments in later if "num_inference_steps" in arguments}
    assert steps == {1, 10, 20, 30, 50}
    assert "MACs over the pixels of the image" in target.read_text(encoding="utf-8")


def test_the_page_notes_a_model_without_a_size(
    two: tuple[str, str], run: Run, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_width(request: Request, progress: object) -> Profile:
        if "width" in request.arguments:
            raise RequestError("This pipeline has no argument width.")
        return engine.profile_model(request, progress)

    monkeypatch.setattr(sys.modules["diffprof.counting.profile"], "profile_model", refuse_width)
    target = tmp_path / "page.html"
    assert run("compare", two[0], "sd-2.1-base", "--html", str(target)).code == 0
    page = target.read_text(encoding="utf-8")
    assert "sd-2.1-base could not be counted everywhere: This pipeline has no argument width." in page


def test_files_that_are_not_profiles_of_this_version_are_rejected(
    two: tuple[str, str], run: Run, tmp_path: Path
) -> None:
    newer = to_json(stable_diffusion())
    newer["format"]["version"] = 99
    contents = {
        "foreign.json": ('{"a": 1}', "not a diffprof profile"),
        "broken.json": ("{", "not valid JSON"),
        "newer.json": (json.dumps(newer), "format version 99, this diffprof reads up to 3; upgrade diffprof"),
    }
    for name, (content, sentence) in contents.items():
        (tmp_path / name).write_text(content)
        ended = run("compare", two[0], str(tmp_path / name))
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert sentence in ended.err
