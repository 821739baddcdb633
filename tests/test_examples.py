"""What `examples/` holds fits the commands of today."""

from __future__ import annotations

import ast
import json
import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Run, run  # noqa: F401  (a fixture)

ROOT = Path(__file__).parents[1]
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / "examples" / "github-actions.yml").read_text(encoding="utf-8"))


def commands() -> list[str]:
    steps = [step.get("run", "") for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    lines = [line.strip() for text in steps for line in text.splitlines()]
    return [line for line in lines if line.startswith("diffprof ")]


def test_the_workflow_has_both_tiers() -> None:
    assert [shlex.split(line)[1] for line in commands()] == ["gate", "run", "run", "gate"]
    assert WORKFLOW[True] == "pull_request", "YAML reads `on` as true, and GitHub knows"


@pytest.mark.parametrize("command", commands())
def test_every_option_of_the_workflow_is_one_of_its_command(command: str, run: Run) -> None:  # noqa: F811
    words = shlex.split(command)
    known = set(re.findall(r"(?<!\w)--?[a-z][a-z-]*", run(words[1], "--help").out))
    assert {word for word in words if word.startswith("-")} <= known


def test_the_page_leads_to_the_workflow() -> None:
    assert "(../examples/github-actions.yml)" in (ROOT / "docs" / "compare-and-gate.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "arguments", "printed"),
    [
        ("one_model", (), "MACs"),
        ("breakdown", (), "kinds of work"),
        ("before_and_after", (5,), "Can they be compared?"),
        ("every_model", (("dit-xl-2-256",),), "pass"),
        ("custom_pipeline", (), "Findings"),
        ("ci_gate", ("baseline.json",), "Made baseline.json"),
    ],
)
def test_every_example_runs(
    name: str,
    arguments: tuple[Any, ...],
    printed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    example = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    assert not example["main"](*arguments)
    assert printed in capsys.readouterr().out


def test_the_gate_of_the_example_passes_against_its_own_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    gate = runpy.run_path(str(ROOT / "examples" / "ci_gate.py"))["main"]
    assert [gate("baseline.json"), gate("baseline.json")] == [0, 0]
    assert capsys.readouterr().out.splitlines()[-1] == "passed"


def test_every_cell_of_the_notebook_runs_and_shows_itself() -> None:
    cells = json.loads((ROOT / "examples" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            parsed = ast.parse(cell["source"])
            *statements, last = parsed.body
            exec(compile(ast.Module(statements, []), "<cell>", "exec"), names)
            assert isinstance(last, ast.Expr), "a cell ends in what it shows"
            shown = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
            assert shown is not None
            if not isinstance(shown, tuple):
                assert "<table" in shown._repr_html_()


def test_every_example_is_run() -> None:
    files = {path.name for path in (ROOT / "examples").iterdir() if path.is_file()}
    tested = {"one_model", "breakdown", "before_and_after", "every_model", "custom_pipeline", "ci_gate"}
    assert files == {"github-actions.yml", "notebook.ipynb", *(f"{name}.py" for name in tested)}


def test_a_cache_of_diffusers_hits_on_the_small_dit(run: Run, tmp_path: Path) -> None:  # noqa: F811
    request = ("--size", "64x64", "--steps", "8", "--seed", "1", "--random-weights", "--cache", "first_block:1.0")
    measuring = ("--warmup", "0", "--iterations", "1", "--sample-hz", "0", "-o", str(tmp_path / "results"))
    ended = run("run", str(ROOT / "examples" / "tiny-dit"), *request, *measuring, "--by", "cache", "-q")
    assert "FirstBlockCache" in ended.out
    assert "87.5 %" in ended.out, "all steps but the first"
