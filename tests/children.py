"""Child processes of tests, whose output is part of the message of a failed test."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn


def run_child(*arguments: object, exit_code: int = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run ``python ARGUMENTS...`` to its end, check its exit code, and return what it wrote."""
    command = [sys.executable, *map(str, arguments)]
    if "stdout" not in options:
        options["stdout"] = subprocess.PIPE
    child = subprocess.run(command, stderr=subprocess.PIPE, text=True, encoding="utf-8", check=False, **options)
    assert child.returncode == exit_code, describe(child)
    return child


def run_forked(
    work: Callable[[], int],
    exit_code: int = 0,
    env: Mapping[str, str] = os.environ,
    preexec_fn: Callable[[], object] = lambda: None,
    stdout: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Do some work in a fork of this process, check its exit code, and return what it wrote.

    It is a process of its own that can be killed and limited, and has imported everything already. Only for work that
    needs no other thread.
    """
    pipes = [os.pipe() for _ in range(2)]
    child = os.fork()
    if not child:
        writers = (pipes[0][1] if stdout is None else stdout, pipes[1][1])
        _work_as_child(work, writers, dict(env), preexec_fn)
    for _, writer in pipes:
        os.close(writer)
    with ThreadPoolExecutor() as pool:
        out, err = pool.map(_read_all, (reader for reader, _ in pipes))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ended = subprocess.CompletedProcess(["fork of the tests"], code, out, err)
    assert code == exit_code, describe(ended)
    return ended


def _work_as_child(
    work: Callable[[], int], writers: tuple[int, int], environment: dict[str, str], preexec_fn: Callable[[], object]
) -> NoReturn:
    """Never returns: what comes after it belongs to the parent."""
    code = 1
    try:
        for number, writer in enumerate(writers, 1):
            os.dup2(writer, number)
        sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))  # noqa: SIM115
        os.environ.clear()
        os.environ.update(environment)
        preexec_fn()
        code = work()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001  the parent shows it
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _read_all(reader: int) -> str:
    with open(reader, encoding="utf-8") as file:
        return file.read()


def describe(child: subprocess.CompletedProcess[str]) -> str:
    """The exit code and output of a child, for the message of an assertion."""
    return f"{child.args}\nexit code {child.returncode}\nstderr:\n{child.stderr}\nstdout:\n{child.stdout}"
