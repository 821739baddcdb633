"""The recipes of CONTRIBUTING are followed, word by word, on a copy of the sources: what they promise comes out."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from diffprof.record.files import save
from tests.children import run_child
from tests.sample_profiles import everything_measured, stable_diffusion
from tests.test_docs import assert_same, commands_in

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = {
    title: text for title, text in re.findall(r"^## (Adding .+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S) if "```" in text
}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
NEW_FILE = re.compile(r"# new file: (\S+)\n")
IMPORT = re.compile(r"# in (\S+), add to the imports\n")
ENTRY = re.compile(r"# in (\S+), add to (\w+)\n")
END_OF_FILE = re.compile(r"# at the end of (\S+)\n")


def follow(recipe: str, copy: Path) -> None:
    """Make the changes that the blocks of a recipe show."""
    for _, block in BLOCK.findall(recipe):
        if found := NEW_FILE.match(block):
            target = copy / found[1]
            assert not target.exists(), f"{found[1]} is there already"
            target.write_text(block[found.end() :], encoding="utf-8")
        elif found := IMPORT.match(block):
            insert(copy / found[1], r"^from __future__ import annotations\n", block[found.end() :])
        elif found := ENTRY.match(block):
            insert(copy / found[1], rf"^{found[2]}\b[^\n]*[\[({{]\n", block[found.end() :])
        elif found := END_OF_FILE.match(block):
            with (copy / found[1]).open("a", encoding="utf-8") as target:
                target.write(f"\n{block[found.end() :]}")


def insert(file: Path, after: str, lines: str) -> None:
    parts = re.split(f"({after})", file.read_text(encoding="utf-8"), flags=re.M)
    assert len(parts) == 3, f"{file.name} has not exactly one line that matches {after}"
    file.write_text(f"{parts[0]}{parts[1]}{lines}{parts[2]}", encoding="utf-8")


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_does_what_it_promises(title: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.safetensors"))
    save(stable_diffusion(), tmp_path / "profile.json")
    save(everything_measured(), tmp_path / "run.json")
    follow(RECIPES[title], tmp_path)
    checks = [block for language, block in BLOCK.findall(RECIPES[title]) if language == "console"]
    assert checks, "a recipe shows how to see that it worked"
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "src"),
        "COLUMNS": "100",
        "DIFFPROF_CACHE_DIR": str(tmp_path),
    }
    for command, shown in (pair for block in checks for pair in commands_in(block)):
        words = shlex.split(command)
        arguments = words[1:] if words[0] == "python" else ["-m", *words]
        child = run_child(*arguments, cwd=tmp_path, env=environment)
        assert_same(child.stdout, shown, command)


def test_every_kind_of_extension_has_a_recipe() -> None:
    assert list(RECIPES) == [
        "Adding a formula",
        "Adding a finding",
        "Adding an accelerator",
        "Adding a model",
        "Adding an export format",
        "Adding a command",
    ]
