"""``diffprof crosscheck`` puts the tools side by side and says what each missed."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from pathlib import Path
from typing import Any

import pytest

from diffprof.crosscheck import running as comparing
from diffprof.crosscheck.result import (
    ATTENTION,
    CONVOLUTIONS,
    MATRIX_PRODUCTS,
    NORMS,
    SOFTMAX,
    SQUARED,
    Count,
    Crosscheck,
)
from tests.cli.conftest import Run
from tests.small_pipelines import SMALL_PIPELINES

PARTS = {MATRIX_PRODUCTS: 259_844_341_760, CONVOLUTIONS: 418_360_852_480, ATTENTION: 126_052_270_080}
MADE = Crosscheck(
    "sd-2.1-base", "unet", "UNet2DConditionModel", "forward", "sample 2x4x64x64, timestep scalar", 865_910_724,
    (
        Count("diffprof", "diffprof", sum(PARTS.values()), PARTS, 0.39, 409_000_000),
        Count(
            "thop-sdpa", "thop with a patch for attention", 806_000_000_000 + 2 * 10**9,
            {**PARTS, NORMS: 742_535_680, SOFTMAX: 10**9, SQUARED: 2 * 10**9}, 41.3, 5_100_000_000,
        ),
        Count("calflops", "calflops", reason="calflops is not installed"),
        Count("fvcore", "fvcore", reason="too large", needed_bytes=48_500_000_000, free_bytes=20_000_000_000),
        Count("torch-cpu", "torch FlopCounterMode, CPU", 678_205_194_240, {**PARTS, ATTENTION: 0}, 1203.0, 10**9),
    ),
)  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Stands in for the comparison: notes what it was asked for."""
    asked: list[Any] = []

    def compare(model: str, component: str | None, arguments: Any, tools: Any, timeout: float, progress: Any) -> Any:
        asked.append((model, component, arguments, tools, timeout))
        return MADE

    monkeypatch.setattr(comparing, "crosscheck", compare)
    return asked


def test_the_table_says_what_each_tool_missed(run: Run, asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = run("crosscheck", "sd-2.1-base").out
    assert "sd-2.1-base · one call of unet (UNet2DConditionModel, 865.91M parameters)" in shown
    assert "cross-attention as N²: 2.00 GMACs; softmax counted as 1.00 GMACs; norms counted as 742.54 MMACs" in shown
    assert "missed 126.05 GMACs of attention" in shown
    assert "84.3 %" in shown
    assert "calflops is not installed" in shown
    assert "too large: it takes about 48.50 GB, and 20.00 GB are free" in shown
    assert "1,203 s" in shown


def test_a_narrow_terminal_keeps_the_figures_whole(run: Run, asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = run("crosscheck", "sd-2.1-base").out
    assert "804.26 GMACs" in shown
    assert max(map(len, shown.splitlines()[3:-4])) <= 60


def test_options_become_the_request(run: Run, asked: list[Any]) -> None:
    run(
        *("crosscheck", "sdxl", "--component", "vae", "--height", "512", "--width", "768", "--guidance", "5"),
        *("--batch", "2", "--set", "eta=0.5", "--tool", "thop", "--tool", "fvcore", "--timeout", "60"),
    )
    arguments = {"height": 512, "width": 768, "guidance_scale": 5.0, "num_images_per_prompt": 2, "eta": 0.5}
    assert asked == [("sdxl", "vae", arguments, ("thop", "fvcore"), 60.0)]


def test_csv_has_exact_numbers(run: Run, asked: list[Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(run("crosscheck", "sdxl", "--csv").out)))
    assert [row["tool"] for row in rows] == ["diffprof", "thop-sdpa", "calflops", "fvcore", "torch-cpu"]
    assert (rows[0]["macs"], rows[0]["missed"]) == ("804257464320", "0")
    assert (rows[4]["missed"], rows[4]["counted_besides"]) == ("126052270080", "0")
    assert (rows[2]["macs"], rows[2]["share"]) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such-model"], "no-such-model"),
        (["sdxl", "--json", "--csv"], "--json and --csv exclude each other"),
        (["sdxl", "--height", "0"], "--height must be a whole number from 1"),
        (["sdxl", "--timeout", "0"], "--timeout must be a number of seconds above 0"),
        (["sdxl", "--timeout", "nan"], "--timeout must be a number of seconds above 0"),
    ],
)
def test_a_wrong_request_is_one_sentence_before_any_work(
    arguments: list[str], words: str, run: Run, asked: list[Any]
) -> None:
    ended = run("crosscheck", *arguments)
    assert (ended.code, ended.out, asked) == (2, "", [])
    assert words in ended.err
    assert len(ended.err.splitlines()) == 1


def test_an_unknown_tool_is_refused_with_those_there_are(run: Run) -> None:
    ended = run("crosscheck", "sdxl", "--tool", "ptflops")
    assert ended.code == 2
    assert "there is no tool 'ptflops'; there are diffprof, thop-sdpa" in ended.err


def test_all_tools_count_the_same_call_of_a_small_pipeline(run: Run, tmp_path: Path) -> None:
    SMALL_PIPELINES["stable-diffusion"].build().save_pretrained(tmp_path / "small")
    ended = run("crosscheck", str(tmp_path / "small"), "--height", "16", "--width", "16", "--json")
    assert ended.code == 0, ended.err
    made = json.loads(ended.out)
    assert (made["component"], made["inputs"].partition(",")[0]) == ("unet", "sample 2x4x8x8")
    counts = {count["tool"]: count for count in made["counts"]}
    truth = counts["diffprof"]
    for tool, count in counts.items():
        package = tool.partition("-")[0]
        if importlib.util.find_spec(package) is None:
            assert count["reason"] == f"{package} is not installed; `pip install diffprof[crosscheck]` brings it."
            continue
        assert not count["reason"], count["reason"]
        off = sum(difference["macs"] for difference in count["differences"])
        assert count["macs"] - truth["macs"] == off
        assert count["seconds"] > 0
        assert count["peak_bytes"] > 0
    assert counts["torch-meta"]["macs"] == truth["macs"]
