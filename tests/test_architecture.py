"""The rooms: what CONTRIBUTING shows, what import-linter checks and what the folder holds are the same.

And their mirror: every module that does something has tests under its own name.
"""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
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
        if imported_libraries(syntax_of(path)) & HEAVY
    }
    assert importing == allowed


@cache
def syntax_of(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


def imported_libraries(node: ast.AST) -> set[str]:
    """The libraries that the code imports, wherever; what only a type checker imports is left out."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return set()
    names = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    # An expression imports nothing.
    statements = (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
    inside = (imported_libraries(child) for child in statements)
    return {name.partition(".")[0] for name in names}.union(*inside)


TESTS = Path(__file__).parent
TESTED_WITH = {
    # The page's tabs are tested as a visitor uses them, in a browser.
    "app/generation_job.py": "app/test_generate_tab.py",
    "app/layout.py": "app/test_page.py",
    "app/tabs/compare.py": "app/test_compare_tab.py",
    "app/tabs/files.py": "app/test_dropped_files.py",
    "app/tabs/generate.py": "app/test_generate_tab.py",
    "app/tabs/history.py": "app/test_history_tab.py",
    "app/tabs/profile.py": "app/test_profile_tab.py",
    # Laws are derived from real dry runs, which one fixture makes for all of it.
    "counting/derivation/pieces.py": "counting/derivation/test_derive.py",
    "counting/derivation/program_values.py": "counting/derivation/test_derive.py",
    "counting/derivation/prove.py": "counting/derivation/test_derive.py",
    "counting/derivation/sampling.py": "counting/derivation/test_derive.py",
    "counting/derivation/subject.py": "counting/derivation/test_derive.py",
    # It needs several processes, which one test starts for all that they share.
    "counting/sharded_linear.py": "counting/test_collectives.py",
    # What is added to a pipeline is compared with what the libraries make of the same, on models that are built once.
    "pipelines/loading/file_loading.py": "pipelines/plans/test_single_file.py",
    "pipelines/changes/ip_adapters.py": "pipelines/changes/test_virtual_changes.py",
    # The checks of the doctor are made once, on the model on board, and each must hold.
    "runtime/doctor_calls.py": "runtime/test_doctor.py",
    "runtime/doctor_model.py": "runtime/test_doctor.py",
}
"""Modules whose tests have another name, with that name: short, and each for the reason above it."""


def has_behaviour(module: Path) -> bool:
    """Whether a module does something: it has a function, a method or a property that is more than one expression.

    Texts and data are none, nor are `__repr__` and its like.
    """
    for owner in ast.walk(syntax_of(module)):
        for node in getattr(owner, "body", ()) if isinstance(owner, ast.Module | ast.ClassDef) else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_trivial(node, owner):
                return True
    return False


def _is_trivial(function: ast.FunctionDef | ast.AsyncFunctionDef, owner: ast.AST) -> bool:
    if isinstance(owner, ast.Module):
        return False
    if function.name.startswith("__"):
        return True
    statements = [node for node in function.body if not (isinstance(node, ast.Expr) and _is_constant(node.value))]
    is_property = any("property" in ast.unparse(decorator) for decorator in function.decorator_list)
    return is_property and len(statements) <= 1


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


@cache
def modules_without_a_twin() -> set[str]:
    return {
        module.relative_to(SOURCE).as_posix()
        for module in SOURCE.rglob("*.py")
        if not module.stem.startswith("__")
        and has_behaviour(module)
        and not (TESTS / module.relative_to(SOURCE).with_name(f"test_{module.name}")).is_file()
    }


def test_every_module_that_does_something_has_tests_under_its_name() -> None:
    assert modules_without_a_twin() - TESTED_WITH.keys() == set()


def test_every_exception_is_still_needed_and_names_its_tests() -> None:
    assert TESTED_WITH.keys() - modules_without_a_twin() == set(), "has a twin by now, or is gone"
    assert [file for file in TESTED_WITH.values() if not (TESTS / file).is_file()] == []
