"""What `examples/` holds fits the commands of today."""

from __future__ import annotations

import re
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
