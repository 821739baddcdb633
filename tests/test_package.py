"""The package as users install it: what is in the wheel, and what works where torch is not installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.children import run_child
from tests.package_index import ROOT, add_dependencies, build_wheel
from tests.sample_profiles import stable_diffusion
from tests.traces.trace_builder import two_denoising_steps

HEAVY = {"torch", "diffusers", "transformers", "accelerate", "huggingface_hub", "safetensors"}
MAX_BYTES = 25_000_000
SENTENCE = 'install them with `pip install "diffprof[torch]"`.'

COMMANDS_IN_TURN = """
import contextlib, io, json, sys

from diffprof.cli import main

ended = []
for words in json.loads(sys.stdin.read()):
    sys.argv, out, err = ["diffprof", *words], io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main()
        except SystemExit as left:
            code = left.code
    ended.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(ended))
"""


class Ended(NamedTuple):
    """A command that was run."""

    code: int
    stdout: str
    stderr: str


Diffprof = Callable[..., list[Ended]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("index"))


@pytest.fixture(scope="module")
def libraries(wheel: Path) -> list[str]:
    """The names of what a plain install brings; their wheels lie beside ours."""
    return add_dependencies(wheel)


@pytest.fixture(scope="module")
def light(wheel: Path, libraries: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment after ``pip install diffprof``, and nothing else."""
    environment = tmp_path_factory.mktemp("light")
    index = ("--offline", "--no-config", "--no-index", "--find-links", str(wheel.parent))
    _uv("venv", "--python", sys.executable, str(environment / "venv"))
    _uv("pip", "install", "--python", str(environment / "venv"), *index, "diffprof")
    return environment


@pytest.fixture
def diffprof(light: Path, tmp_path: Path) -> Diffprof:
    """``diffprof(("show", file), ("models",))`` are these commands in the environment without torch.

    All in one process: to start one takes longer than most of them.
    """

    def run(*commands: tuple[object, ...]) -> list[Ended]:
        asked = json.dumps([[str(word) for word in words] for words in commands])
        done = _run([light / "venv" / "bin" / "python", "-c", COMMANDS_IN_TURN], tmp_path, asked)
        assert done.returncode == 0, done.stderr
        return [Ended(*ended) for ended in json.loads(done.stdout)]

    return run


def _run(
    command: list[Any], folder: Path, given: str | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DIFFPROF", "UV_"))}
    environment = {**kept, "DIFFPROF_CACHE_DIR": str(folder), "HOME": str(folder), "COLUMNS": "100", **variables}
    return subprocess.run(
        [str(word) for word in command], cwd=folder, env=environment, input=given, capture_output=True, text=True,
        encoding="utf-8", check=False,
    )  # fmt: skip


def _uv(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "uv", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_wheel_holds_the_package_its_data_and_their_licences_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        metadata = opened.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"diffprof"}
    assert not [name for name in names if "test" in name.split("/") or "tests" in name or name.endswith(".pyc")]
    assert "diffprof/py.typed" in names
    assert "diffprof/shapes_model/LICENSE" in names
    licences = {name.rpartition("/")[2] for name in names if ".dist-info/licenses/" in name}
    assert licences == {"LICENSE", "NOTICE"}
    assert "License-Expression: Apache-2.0" in metadata
    assert wheel.stat().st_size < MAX_BYTES


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    source = ROOT / "src" / "diffprof"
    files = {path.relative_to(source.parent).as_posix() for path in source.rglob("*") if path.is_file()}
    with zipfile.ZipFile(wheel) as opened:
        assert {name for name in files if "__pycache__" not in name} <= set(opened.namelist())


def test_the_notice_speaks_of_every_kind_of_data_in_the_package() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    source = ROOT / "src" / "diffprof"
    code = {".py", ".js", ".css", ".typed", ".pyc", ".html"}
    data = {path.relative_to(source) for path in source.rglob("*") if path.is_file() and path.suffix not in code}
    named = [
        line.split(":")[0].split(",")[0].removeprefix("- diffprof/") for line in notice.splitlines() if "- " in line
    ]
    assert not [file for file in data if not file.as_posix().startswith(tuple(named))]


def test_a_plain_install_brings_no_torch(libraries: list[str]) -> None:
    assert not HEAVY & {name.replace("-", "_") for name in libraries}


def test_without_torch_models_and_accelerators_are_listed(diffprof: Diffprof) -> None:
    models, hardware, sdxl = diffprof(("models",), ("hardware",), ("models", "show", "sdxl"))
    assert "flux.1-dev" in models.stdout
    assert "h100-sxm" in hardware.stdout
    assert sdxl.code == 0


def test_without_torch_a_saved_profile_is_shown_compared_gated_reported_and_predicted(
    diffprof: Diffprof, tmp_path: Path
) -> None:
    before = stable_diffusion().save(tmp_path / "before.json")
    after = stable_diffusion(steps=20, unet_calls=21).save(tmp_path / "after.json")
    trace = two_denoising_steps().write(tmp_path / "trace.json")
    ended = diffprof(
        ("predict", before, "--gpu", "l4"),
        ("show", before),
        ("compare", before, after),
        ("gate", before, before),
        ("trace", trace),
        ("report", before, "-o", tmp_path / "report.html"),
        ("history", "list"),
        ("config",),
        ("cache",),
    )
    assert [command.code for command in ended] == [0] * 9, ended
    assert "predicted for diffusers" in ended[0].stdout


def test_without_torch_a_law_answers_what_is_asked_about_its_model(diffprof: Diffprof) -> None:
    counted, fit, predicted, swept = diffprof(
        ("profile", "sd-2.1-base", "--height", "512", "--width", "512", "--steps", "30"),
        ("fit", "sd-2.1-base", "--gpu", "l4"),
        ("predict", "sd-2.1-base", "--gpu", "l4"),
        ("sweep", "models=sd-2.1-base", "sizes=512,768", "steps=30", "gpus=l4", "--json"),
    )
    assert "exactly 26,234,368,094,208 MACs" in counted.stdout, counted.stderr
    assert (fit.code, predicted.code) == (0, 0), (fit.stderr, predicted.stderr)
    points = json.loads(swept.stdout)["points"]
    assert [(point["source"], point["height"]) for point in points] == [("law", 512), ("law", 768)]
    assert points[0]["macs"] == 26_234_368_094_208


def test_what_needs_torch_says_so_in_one_sentence(diffprof: Diffprof) -> None:
    for command in diffprof(
        ("profile", "sdxl", "--lora", "16"),
        ("run", "shapes"),
        ("generate", "a red circle"),
        ("crosscheck", "sdxl"),
        ("doctor",),
        ("hardware", "calibrate"),
    ):
        assert command.code == 2, command
        assert SENTENCE in command.stderr
        assert command.stderr.count("\n") == 1


def test_the_command_is_installed_and_ends_with_its_code(light: Path, tmp_path: Path) -> None:
    ended = _run([light / "venv" / "bin" / "diffprof", "run", "shapes"], tmp_path)
    assert ended.returncode == 2
    assert SENTENCE in ended.stderr


BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {heavy}:
            raise AssertionError(f"{{name}} was imported")

sys.meta_path.insert(0, Blocker())
from diffprof.cli import main
for words in sys.argv[1:]:
    sys.argv = ["diffprof", *words.split()]
    if code := main():
        sys.exit(code)
"""


def test_nothing_imports_torch_to_show_predict_or_list_where_it_is_installed(tmp_path: Path) -> None:
    saved = stable_diffusion().save(tmp_path / "saved.json")
    code = BLOCKED.format(heavy=HEAVY)
    run_child("-c", code, f"show {saved}", f"predict {saved} --gpu l4", "models", f"compare {saved} {saved}")
    assert "torch was imported" in run_child("-c", code, f"run shapes -o {tmp_path / 'run'}", exit_code=1).stderr


def test_python_says_the_same(light: Path, tmp_path: Path) -> None:
    code = "import diffprof; diffprof.profile('sdxl', use_cache=False, cache='first_block')"
    ended = _run([light / "venv" / "bin" / "python", "-c", code], tmp_path)
    assert ended.stderr.splitlines()[-1].startswith("diffprof.errors.MissingLibraryError: ")
    assert SENTENCE in ended.stderr


def test_uvx_runs_it_from_an_index(wheel: Path, libraries: list[str], tmp_path: Path) -> None:
    uvx = ("uv", "tool", "run", "--offline", "--no-config", "--no-index", "--find-links", wheel.parent)
    command = [sys.executable, "-m", *uvx, "--python", sys.executable, "diffprof", "models", "show", "flux.1-dev"]
    ended = _run(command, tmp_path, UV_CACHE_DIR=str(tmp_path / "uv"))
    assert ended.returncode == 0, ended.stderr
    assert "FLUX.1" in ended.stdout


def test_the_release_is_built_checked_proved_audited_and_then_published() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert jobs["publish"]["needs"] == ["build", "test", "laws", "audit"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    steps = {name: " ".join(str(step.get("run", "")) for step in job["steps"]) for name, job in jobs.items()}
    assert "python -m build" in steps["build"]
    assert "twine check --strict" in steps["build"]
    assert "make laws" in steps["laws"]
    assert "pip-audit" in steps["audit"]


PAGE_WITHOUT_TORCH = """
import sys

# What is None there cannot be imported, as if it were not installed.
sys.modules.update(dict.fromkeys(["torch", "diffusers", "transformers", "accelerate", "safetensors"]))
from diffprof.app.hardware import hardware_view
from diffprof.app.server import application
from diffprof.app.setup import Setup
from diffprof.app.sliders import count_model, slider_values

application(Setup())
own = count_model("sd-2.1-base", {})
moved = count_model("sd-2.1-base", {"height": 512, "width": 512, "num_inference_steps": 30})
print(sorted(slider_values(own)), moved.total.macs, "memory-bar" in hardware_view(moved, "l4"))
"""


def test_the_page_answers_without_torch() -> None:
    sliders = ["guidance_scale", "height", "num_images_per_prompt", "num_inference_steps", "width"]
    assert run_child("-c", PAGE_WITHOUT_TORCH).stdout.strip() == f"{sliders} {26_234_368_094_208} True"
