"""The model on board from the shell: every command takes its name, and says what it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diffprof import catalogue
from diffprof.catalogue.bundled_model import SHAPES, shapes_entry
from tests.cli.conftest import Run


def test_its_catalogue_entry_equals_what_a_profile_counts(run: Run) -> None:
    entry = shapes_entry()
    counted = json.loads(run("profile", SHAPES, "--steps", "2", "--json").out)
    assert counted["request"]["pipeline"] == entry.pipeline
    assert {slot: part["parameters"] for slot, part in counted["components"].items() if part["parameters"]} == {
        slot: part.parameters for slot, part in entry.components.items() if part.parameters
    }
    assert entry.denoiser is not None
    assert entry.denoiser.slot == "unet"


def test_it_leads_the_list_and_says_that_nothing_has_to_be_fetched(run: Run) -> None:
    assert SHAPES not in [entry.name for entry in catalogue.entries()]
    assert [row["name"] for row in json.loads(run("models", "shape", "--json").out)] == [SHAPES]
    for name in (SHAPES, "Shapes"):
        shown = run("models", "show", name).out
        assert "comes with diffprof" in shown
        assert "unet: UNet2DConditionModel of diffusers" in shown
        assert "docs/shapes-model.md" in shown
    assert json.loads(run("models", "show", SHAPES, "--json").out)["hub_id"] is None


@pytest.mark.parametrize(
    "command",
    [
        ("profile", SHAPES, "--steps", "2"),
        ("compare", SHAPES, "sd-2.1-base", "--steps", "2"),
        pytest.param(
            ("run", SHAPES, "--steps", "1", "--iterations", "1", "--warmup", "0"), marks=pytest.mark.extensive
        ),
        pytest.param(("generate", "a red circle", "--model", SHAPES, "--steps", "1"), marks=pytest.mark.extensive),
    ],
    ids=lambda command: command[0],
)
def test_every_command_takes_its_name(
    command: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    ended = run(*command)
    assert ended.code == 0, ended.err
    assert ended.out.startswith(SHAPES)
    assert "StableDiffusionPipeline" in ended.out or command[0] == "compare"
