"""Dropped files become the page that explains them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect

from diffprof.app.dropped_files import page_of_files
from diffprof.errors import DiffprofError
from tests.app.conftest import OpenPage
from tests.sample_profiles import stable_diffusion
from tests.traces.memory.test_explain import snapshot

EVENT = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 5, "args": {"stream": 7}}


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return Path(stable_diffusion().save(tmp_path / "one.json"))


def picture(path: Path, colour: str) -> Path:
    Image.new("RGB", (32, 32), colour).save(path)
    return path


def test_a_profile_becomes_its_report_and_two_become_a_comparison(profile: Path, tmp_path: Path) -> None:
    other = stable_diffusion().save(tmp_path / "two.json.gz")
    assert "Where the cost goes" in page_of_files([str(profile)])
    assert "one.json against two.json.gz" in page_of_files([str(profile), str(other)])


def test_the_picture_of_a_generation_is_in_its_report(tmp_path: Path) -> None:
    saved = stable_diffusion().save(tmp_path / "shapes_seed1.profile.json")
    page = page_of_files([str(saved), str(picture(tmp_path / "shapes_seed1.png", "red"))])
    assert "The result" in page
    assert "data:image/png" in page


def test_a_trace_becomes_its_page(tmp_path: Path) -> None:
    file = tmp_path / "trace.json.gz"
    file.write_bytes(gzip.compress(json.dumps({"traceEvents": [EVENT]}).encode()))
    assert "GPU timeline" in page_of_files([str(file)])


def test_a_memory_snapshot_becomes_its_page(tmp_path: Path) -> None:
    assert "at the peak" in page_of_files([str(snapshot(tmp_path / "s.pickle"))])


def test_pictures_are_shown_with_how_far_they_are_apart(tmp_path: Path) -> None:
    files = [str(picture(tmp_path / f"{colour}.png", colour)) for colour in ("red", "blue")]
    assert "blue.png: PSNR" in page_of_files(files)
    assert "How far" not in page_of_files(files[:1])


@pytest.mark.parametrize(
    ("content", "message"), [(b"{}", "not a diffprof profile"), (b"nonsense", "not valid JSON"), (b"", "JSON")]
)
def test_other_files_are_refused_in_a_sentence(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "file.json").write_bytes(content)
    with pytest.raises(DiffprofError, match=message):
        page_of_files([str(tmp_path / "file.json")])


def test_a_damaged_archive_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file.json.gz").write_bytes(gzip.compress(b"{}" * 900)[:-9])
    with pytest.raises(DiffprofError, match=r"file.json.gz"):
        page_of_files([str(tmp_path / "file.json.gz")])


def test_a_dropped_file_is_shown_and_a_wrong_one_takes_it_away(visit: OpenPage, profile: Path, tmp_path: Path) -> None:
    visitor = visit(tab="Files")
    visitor.find("files-files").locator("input[type=file]").set_input_files(profile)
    frame = visitor.page.frame_locator("#files-page iframe")
    expect(frame.locator("h1")).to_contain_text(["sd-2.1-base"])
    frame.locator(".js-plotly-plot").first.wait_for()
    visitor.rests()
    (tmp_path / "wrong.json").write_text("{}")
    visitor.find("files-files").get_by_label("Clear").click()
    visitor.find("files-files").locator("input[type=file]").set_input_files(tmp_path / "wrong.json")
    visitor.sees("files-message", "not a diffprof profile")
    expect(visitor.find("files-page").locator("iframe")).to_have_count(0)
