"""The rooms: what CONTRIBUTING shows, what import-linter checks and what the folder holds are the same."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "diffprof"
CONTRACTS: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]
LAYERS = [
    {name.strip().removeprefix("diffprof.") for name in re.split("[|:]", layer)}
    for layer in next(contract for contract in CONTRACTS if contract["type"] == "layers")["layers"]
]
HEAVY = {"torch", "diffusers", "transformers", "accelerate"}
WITHOUT_A_ROOM = {"__init__", "__main__"}
"""What `import diffprof` and `python -m diffprof` give: they may name everything, and nothing imports them."""


def rows_of_the_table() -> list[tuple[set[str], bool]]:
    """The rooms of each row of CONTRIBUTING's table, and whether they may import torch."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## The rooms")[1].split("\n## ")[0]
    cells = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return [(set(re.findall(r"`(\w+)`", names)), "yes" in torch) for names, _, torch in cells]


def test_contributing_lists_the_rooms_as_the_contract_checks_them() -> None:
    assert [rooms for rooms, _ in rows_of_the_table()] == LAYERS


def test_every_module_lies_in_a_room_of_the_contract() -> None:
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert rooms - WITHOUT_A_ROOM == set.union(*LAYERS)


@pytest.mark.parametrize("contract", CONTRACTS, ids=[contract["name"] for contract in CONTRACTS])
def test_no_contract_has_an_exception(contract: dict[str, Any]) -> None:
    assert not {"ignore_imports", "skip_descendants"} & contract.keys()


def test_torch_is_imported_only_where_contributing_says_so() -> None:
    allowed = set.union(*(rooms for rooms, torch in rows_of_the_table() if torch))
    importing = {
        path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for path in SOURCE.rglob("*.py")
        if imported_libraries(ast.parse(path.read_text(encoding="utf-8"))) & HEAVY
    }
    assert importing == allowed


def imported_libraries(node: ast.AST) -> set[str]:
    """The libraries that the code imports, wherever; what only a type checker imports is left out."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return set()
    names = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    inside = (imported_libraries(child) for child in ast.iter_child_nodes(node))
    return {name.partition(".")[0] for name in names}.union(*inside)
