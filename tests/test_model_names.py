"""A name means the same model through every door: here one that is found in a folder of ``model_dirs``."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import diffprof
from diffprof.app.model_choices import choose_model
from diffprof.catalogue.own_entries import save_entry
from diffprof.compute_profiler import create_profiler
from diffprof.crosscheck.one_call import open_pipeline
from diffprof.inference import generate_image
from diffprof.model_manager import ModelManager
from diffprof.pipelines.describing import describe_source
from tests.cli.conftest import Run, run
from tests.extensive import split_cases
from tests.pipelines.loadable import saved_with_weights

__all__ = ["run"]

NAME = "mine"
SMALL = ("--height", "32", "--width", "32", "--steps", "1")


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the models; the name of a catalogue model stands in it, too."""
    folder = tmp_path_factory.mktemp("models")
    saved_with_weights("stable-diffusion", folder / NAME)
    (folder / "sd-1.5").symlink_to(folder / NAME)
    return folder


@pytest.fixture(scope="module")
def parameters(model_dir: Path) -> int:
    """Of the model, counted by its path."""
    return diffprof.profile(model_dir / NAME, num_inference_steps=1, height=32, width=32).total.parameters


@pytest.fixture(autouse=True)
def settings(model_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_MODEL_DIRS", str(model_dir))
    monkeypatch.chdir(tmp_path)


def parameters_printed(command: tuple[str, ...], run: Run) -> int:
    ended = run(*command)
    assert ended.code == 0, ended.err
    return int(json.loads(ended.out)["total"]["parameters"])


def by_report(name: str, run: Run) -> int:
    ended = run("report", name, "--tables", "tables", "-q")
    assert ended.code == 0, ended.err
    with Path("tables", "components.csv").open(encoding="utf-8", newline="") as file:
        return sum(int(row["parameters"]) for row in csv.DictReader(file))


def by_gate(name: str, run: Run) -> int:
    baseline = diffprof.profile(name, height=32, width=32, num_inference_steps=1)
    baseline.save("baseline.json")
    ended = run("gate", "baseline.json", name, "--max", "parameters=+0", "--json")
    assert ended.code == 0, ended.err
    return int(json.loads(ended.out)["checks"][0]["figure"]["after"])


def by_compare(name: str, run: Run) -> int:
    ended = run("compare", name, name, *SMALL, "--csv")
    assert ended.code == 0, ended.err
    first, second = csv.DictReader(io.StringIO(ended.out))
    assert first["parameters"] == second["parameters"]
    return int(first["parameters"])


def by_generate(name: str, run: Run) -> int:
    ended = run("generate", "a cat", "--model", name, *SMALL, "--device", "cpu", "--json", "-q")
    assert ended.code == 0, ended.err
    return int(json.loads(ended.out)["models"][0]["compute_profile"]["pipeline_params"])


def by_generate_image(name: str, run: Run) -> int:
    manager = ModelManager(device="cpu")
    small = {"num_inference_steps": 1, "height": 32, "width": 32}
    generated = generate_image(name, "a cat", output_dir="out", manager=manager, **small)
    assert generated.profiling_data is not None
    return int(generated.profiling_data["pipeline_params"])


def of_pipeline(pipeline: object) -> int:
    parts = [part for part in vars(pipeline).values() if hasattr(part, "parameters")]
    return sum(weight.numel() for part in parts for weight in part.parameters())


DOORS: dict[str, Callable[[str, Run], int]] = {
    "profile": lambda name, run: parameters_printed(("profile", name, "--json"), run),
    "run": lambda name, run: parameters_printed(
        ("run", name, *SMALL, "--warmup", "0", "--iterations", "1", "--device", "cpu", "--json", "-q"), run
    ),
    "compare": by_compare,
    "report": by_report,
    "gate": by_gate,
    "generate": by_generate,
    "crosscheck": lambda name, run: of_pipeline(open_pipeline(name)[0]),
    "the page": lambda name, run: diffprof.profile(choose_model(name, allow_paths=False)).total.parameters,
    "diffprof.profile": lambda name, run: diffprof.profile(name).total.parameters,
    "compute_profiler": lambda name, run: int(
        create_profiler().profile_pipeline(name, (1, 3, 32, 32), 1)["pipeline_params"]
    ),
    "model_manager": lambda name, run: of_pipeline(ModelManager(device="cpu").load_model(name)),
    "generate_image": by_generate_image,
}


@pytest.mark.parametrize("door", DOORS)
def test_a_model_of_model_dirs_is_found_by_every_command_and_function(door: str, run: Run, parameters: int) -> None:
    assert DOORS[door](NAME, run) == parameters


@pytest.mark.parametrize("door", ["profile", "diffprof.profile", "model_manager"])
def test_a_folder_of_model_dirs_wins_over_the_catalogue(door: str, run: Run, parameters: int) -> None:
    assert DOORS[door]("sd-1.5", run) == parameters


@pytest.mark.parametrize(
    "door", split_cases(DOORS, always=("profile", "crosscheck", "compute_profiler", "model_manager"))
)
def test_a_users_own_entry_is_known_to_every_command_and_function(
    door: str, run: Run, parameters: int, model_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIFFPROF_CATALOGUE_DIR", str(tmp_path / "entries"))
    monkeypatch.delenv("DIFFPROF_MODEL_DIRS")
    save_entry(describe_source(str(model_dir / NAME), "ours", recommended={"height": 32, "width": 32}))
    assert DOORS[door]("ours", run) == parameters
