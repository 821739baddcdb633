"""The command line, ``diffprof COMMAND``: each command has its own file, this one handles how they end."""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import errno
import gc
import io
import os
import sys
from collections.abc import Iterator
from typing import NoReturn

from diffprof.errors import DiffprofError, bounded_message, missing_torch

INTERRUPTED = 130

COMPLETING = "_DIFFPROF_COMPLETE"
"""The environment variable through which a shell asks for completions; typer derives it from the program's name."""

QUICK_COMMANDS = ("advise", "compare", "fit", "gate", "predict", "profile", "scale", "show")
"""Commands that answer and end: what they make lives as long as they do; collecting it takes a fifth of their time."""

BLAS_THREADS = "OPENBLAS_NUM_THREADS"
"""How many threads numpy's matrix library starts when it is imported: one a core, which takes a tenth of a second."""

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Error codes of a standard output that cannot be written to."""


def main() -> int:
    """Run the command line and return the exit code. An error is one sentence on standard error."""
    arguments = sys.argv[1:]
    debug = "--debug" in arguments
    # Accepted anywhere, also after a command.
    arguments = [argument for argument in arguments if argument != "--debug"]
    _replace_closed_streams()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_output()
        return 1
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        # The last line of defence: unexpected errors become a sentence, too.
        if debug:
            raise
        return _explain(error)
    if code == INTERRUPTED:
        _print_error("interrupted.")
    return code


def _run(arguments: list[str]) -> int:
    # A shell that asks for completions passes no arguments: its request is in the environment.
    if arguments in ([], ["--help"], ["-h"]) and COMPLETING not in os.environ:
        from diffprof.cli.overview import overview

        sys.stdout.write(f"{overview()}\n")
        return 0
    # Options set context variables: a copied context keeps them out of the next command of the same process.
    return contextvars.copy_context().run(_run_command, arguments)


def _run_command(arguments: list[str]) -> int:
    is_quick = bool(arguments) and arguments[0] in QUICK_COMMANDS
    with contextlib.ExitStack() as settings:
        if is_quick:
            settings.enter_context(_without_collection())
        if is_quick or arguments[:1] == ["trace"]:
            settings.enter_context(_without_blas_threads())
        from diffprof.cli.program import app
        from diffprof.settings.work_limits import COMMAND_LINE, set_work_limits

        set_work_limits(COMMAND_LINE)
        code = app(arguments, prog_name="diffprof", standalone_mode=False)
    return code if isinstance(code, int) else 0


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Suspend garbage collection, also when the process ends and the system takes all of its memory anyway."""
    from diffprof.counting.garbage_collection import freeze_existing_objects, no_garbage_collection

    # Once, however many commands a process runs.
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
    with no_garbage_collection():
        try:
            yield
        finally:
            freeze_existing_objects()


@contextlib.contextmanager
def _without_blas_threads() -> Iterator[None]:
    """Start no threads with numpy: none of these commands multiplies matrices."""
    if BLAS_THREADS in os.environ:
        yield
        return
    os.environ[BLAS_THREADS] = "1"
    try:
        yield
    finally:
        os.environ.pop(BLAS_THREADS, None)


def _explain(error: Exception) -> int:
    if isinstance(error, ModuleNotFoundError):
        error = missing_torch(error, "This command") or error
    if isinstance(error, DiffprofError):
        _print_error(f"error: {_sentence(str(error))}")
        return error.exit_code
    # typer's own errors come from click or from its copy of it, whichever the installed version uses.
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "diffprof"
        _print_error(f"error: {_sentence(_parser_message(error, command))} See `{command} --help`.")
        return 2
    if type(error).__name__ == "Abort":
        _print_error("interrupted.")
        return INTERRUPTED
    if isinstance(error, OSError) and error.errno in UNWRITABLE:
        _silence_output()
        _print_error(f"error: Cannot write to standard output: {error.strerror}; write a file with -o instead.")
        return 1
    _print_error(
        f"error: this is a bug in diffprof ({bounded_message(f'{type(error).__name__}: {error}')}); "
        "run the command again with --debug for the details and report them."
    )
    return 1


def _parser_message(error: Exception, command: str) -> str:
    """The parser's message, reworded where it would not help users."""
    option, near = getattr(error, "option_name", None), getattr(error, "possibilities", None)
    if option and near:
        import difflib

        (nearest,) = difflib.get_close_matches(option, near, n=1, cutoff=0)
        return f"There is no option {option}; did you mean {nearest}?"
    # pydantic, which checks values for typer, puts the name of its exception in front.
    message: str = error.format_message().replace("Value error, ", "")  # type: ignore[attr-defined]
    if message.startswith("Got unexpected extra argument") and command == "diffprof generate":
        return f"{message.rstrip('.')}; put a prompt of several words into quotes"
    return message


def _sentence(message: str) -> str:
    """Put a message on one line, ending in a full stop."""
    text = bounded_message(message)
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _print_error(message: str) -> None:
    # A message can contain names from a file: their control characters must not reach the terminal.
    words = " ".join(message.split())
    text = f"diffprof: {''.join(letter if letter.isprintable() else '?' for letter in words)}\n"
    # A name may contain characters that the terminal's encoding lacks.
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _silence_output() -> None:
    """Redirect standard output to the null device: Python's flush at exit would fail on a closed pipe."""
    if isinstance(sys.stdout, _ClosedOutput):
        return
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, sys.stdout.fileno())


class _ClosedOutput(io.TextIOBase):
    """Replaces a standard output that the shell has closed; fails only if something is printed."""

    def write(self, text: str) -> NoReturn:
        raise OSError(errno.EBADF, "it is closed")


def _replace_closed_streams() -> None:
    """Replace standard streams that were closed before Python started: they are None, which no library expects."""
    if sys.stdout is None:
        sys.stdout = _ClosedOutput()
    if sys.stderr is None:
        sys.stderr = io.StringIO()
