"""Every module can be imported where modules that only POSIX systems have are missing, as on Windows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import diffprof
from tests.children import run_child

ONLY_POSIX = {"resource", "fcntl", "pwd", "grp", "termios", "tty", "pty"}

IMPORT_TWICE = """
import importlib, pkgutil, sys

import diffprof

names = [module.name for module in pkgutil.walk_packages(diffprof.__path__, "diffprof.")]
names = [name for name in names if not name.endswith("__main__")]
for name in names:  # the first time with everything: other libraries may use what they like
    importlib.import_module(name)
for name in [name for name in sys.modules if name.partition(".")[0] == "diffprof"]:
    del sys.modules[name]
for name in sys.argv[1:]:
    sys.modules[name] = None
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def imported_at_once(node: ast.AST) -> Iterator[str]:
    """The modules that are imported when a module is: those in functions are not."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.Import):
            yield from (name.name for name in part.names)
        elif isinstance(part, ast.ImportFrom):
            yield part.module or ""
        elif not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from imported_at_once(part)


def test_what_only_posix_has_is_imported_inside_functions() -> None:
    files = [*Path(diffprof.__file__).parent.rglob("*.py")]
    imported = {file: set(imported_at_once(ast.parse(file.read_bytes()))) for file in files}
    assert len(files) > 200
    assert not {file.name: names & ONLY_POSIX for file, names in imported.items() if names & ONLY_POSIX}
    assert set(imported_at_once(ast.parse("try:\n    import pwd\nexcept ImportError:\n    import tty"))) == {
        "pwd",
        "tty",
    }


@pytest.mark.extensive
def test_every_module_can_be_imported_without_the_modules_of_posix() -> None:
    child = run_child("-c", IMPORT_TWICE, *sorted(ONLY_POSIX))
    assert int(child.stdout.split()[-1]) > 200, child.stderr


def test_the_side_of_a_crosscheck_that_starts_the_tools_imports_no_torch() -> None:
    check = "import sys, diffprof.crosscheck.run_tools; assert 'torch' not in sys.modules"
    run_child("-c", check)
