"""Child processes of tests, whose output is part of the message of a failed test."""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def run_child(*arguments: object, exit_code: int = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run ``python ARGUMENTS...`` to its end, check its exit code, and return what it wrote."""
    command = [sys.executable, *map(str, arguments)]
    if "stdout" not in options:
        options["stdout"] = subprocess.PIPE
    child = subprocess.run(command, stderr=subprocess.PIPE, text=True, encoding="utf-8", check=False, **options)
    assert child.returncode == exit_code, describe(child)
    return child


def describe(child: subprocess.CompletedProcess[str]) -> str:
    """The exit code and output of a child, for the message of an assertion."""
    return f"{child.args}\nexit code {child.returncode}\nstderr:\n{child.stderr}\nstdout:\n{child.stdout}"
