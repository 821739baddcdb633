"""Every module can be imported where modules that only POSIX systems have are missing, as on Windows."""

from __future__ import annotations

from tests.children import run_child

IMPORT_TWICE = """
import importlib, pkgutil, sys

import diffprof

names = [module.name for module in pkgutil.walk_packages(diffprof.__path__, "diffprof.")]
names = [name for name in names if not name.endswith("__main__")]
for name in names:  # the first time with everything: other libraries may use what they like
    importlib.import_module(name)
for name in [name for name in sys.modules if name.partition(".")[0] == "diffprof"]:
    del sys.modules[name]
for name in ("resource", "fcntl", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def test_every_module_can_be_imported_without_the_modules_of_posix() -> None:
    child = run_child("-c", IMPORT_TWICE)
    assert int(child.stdout.split()[-1]) > 200, child.stderr


def test_the_side_of_a_crosscheck_that_starts_the_tools_imports_no_torch() -> None:
    check = "import sys, diffprof.crosscheck.run_tools; assert 'torch' not in sys.modules"
    run_child("-c", check)
