"""``diffprof crosscheck`` puts the tools side by side and says what each missed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from diffprof.crosscheck import run_tools, worker
from diffprof.crosscheck.tools import CAPTURE, TOOLS
from diffprof.crosscheck.views import crosscheck_csv, print_crosscheck
from diffprof.render.console import render_text
from tests.cli.conftest import Run
from tests.crosscheck.crosschecks import FIVE_TOOLS
from tests.small_pipelines import SMALL_PIPELINES


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Stands in for the comparison: notes the requests."""
    requests: list[Any] = []

    def compare(model: str, component: str | None, arguments: Any, tools: Any, timeout: float, progress: Any) -> Any:
        requests.append((model, component, arguments, tools, timeout))
        return FIVE_TOOLS

    monkeypatch.setattr(run_tools, "crosscheck", compare)
    return requests


def test_the_result_is_a_table_or_csv(run: Run, requests: list[Any]) -> None:
    table = render_text(lambda console: print_crosscheck(FIVE_TOOLS, console), 100)
    assert run("crosscheck", "sd-2.1-base").out.split() == table.split()
    assert run("crosscheck", "sd-2.1-base", "--csv").out == crosscheck_csv(FIVE_TOOLS)


def test_options_become_the_request(run: Run, requests: list[Any]) -> None:
    run(
        *("crosscheck", "sdxl", "--component", "vae", "--height", "512", "--width", "768", "--guidance", "5"),
        *("--batch", "2", "--set", "eta=0.5", "--tool", "thop", "--tool", "fvcore", "--timeout", "60"),
    )
    arguments = {"height": 512, "width": 768, "guidance_scale": 5.0, "num_images_per_prompt": 2, "eta": 0.5}
    assert requests == [("sdxl", "vae", arguments, ("thop", "fvcore"), 60.0)]


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
def test_a_wrong_request_is_rejected_before_any_work(
    arguments: list[str], words: str, run: Run, requests: list[Any]
) -> None:
    ended = run("crosscheck", *arguments)
    assert (ended.code, ended.out, requests) == (2, "", [])
    assert words in ended.err
    assert len(ended.err.splitlines()) == 1


def test_an_unknown_tool_is_rejected_with_those_there_are(run: Run) -> None:
    ended = run("crosscheck", "sdxl", "--tool", "ptflops")
    assert ended.code == 2
    assert "there is no tool 'ptflops'; there are diffprof, thop-sdpa" in ended.err


@pytest.fixture
def one_child(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Only the first process is started; the others do their work in this one, where the libraries are imported."""
    real, here = run_tools.subprocess.run, []

    def run_child(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        folder, name = Path(command[-2]), command[-1]
        if name == CAPTURE:
            return real(command, **options)
        here.append(name)
        worker.main(folder, name)
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr(run_tools.subprocess, "run", run_child)
    return here


@pytest.mark.extensive
def test_all_tools_count_the_same_call_of_a_small_pipeline(run: Run, tmp_path: Path, one_child: list[str]) -> None:
    SMALL_PIPELINES["stable-diffusion"].build().save_pretrained(tmp_path / "small")
    ended = run("crosscheck", str(tmp_path / "small"), "--height", "16", "--width", "16", "--json")
    assert ended.code == 0, ended.err
    made = json.loads(ended.out)
    assert (made["component"], made["inputs"].partition(",")[0]) == ("unet", "sample 2x4x8x8")
    counts = {count["tool"]: count for count in made["counts"]}
    assert list(counts) == one_child == list(TOOLS)
    truth = counts["diffprof"]
    for tool, count in counts.items():
        package = tool.partition("-")[0]
        if importlib.util.find_spec(package) is None:
            assert count["reason"] == f"{package} is not installed; `pip install diffprof[crosscheck]` installs it."
            continue
        assert not count["reason"], count["reason"]
        off = sum(difference["macs"] for difference in count["differences"])
        assert count["macs"] - truth["macs"] == off
        assert count["seconds"] > 0
        assert count["peak_bytes"] > 0
    assert counts["torch-meta"]["macs"] == truth["macs"]
