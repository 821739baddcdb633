"""The command line in a process of its own, with an engine that counts nothing."""

from __future__ import annotations

import os
import signal
import sys
from types import ModuleType
from typing import Any

# What a command imports is there before it is forked.
import diffprof.cli.commands.profile
import diffprof.cli.output.profile
import diffprof.counting.request_profile
import diffprof.record.history  # noqa: F401
from diffprof.cli import main
from diffprof.record.history import rows
from diffprof.record.profile import Profile
from tests.sample_profiles import stable_diffusion


def profile_model(request: Any, progress: Any) -> Profile:
    """The profile that every model has; where a test asks for it, a signal arrives in the middle of the work."""
    number = os.environ.get("SIGNAL_WHILE_COUNTING")
    if number:
        if number == "SIGINT":
            # A shell starts what runs in the background with this signal ignored.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        os.kill(os.getpid(), getattr(signal, number))
    return stable_diffusion()


def run_quickly(arguments: list[str]) -> int:
    """Run ``diffprof ARGUMENTS`` and return its exit code. What it changes in this process stays changed."""
    module = ModuleType("diffprof.counting.profile")
    module.profile_model = profile_model  # type: ignore[attr-defined]
    sys.modules["diffprof.counting.profile"] = module
    if os.environ.get("KILLED_WHILE"):
        kill_while_writing()
    if os.environ.get("WITHOUT_HOME"):
        # As in a container that runs as a user whom no list has.
        import pwd

        pwd.getpwuid = no_user
    sys.argv = ["diffprof", *arguments]
    return main()


def kill_while_writing() -> None:
    """The process is killed when all of a file is written but its last name, and in the middle of a transaction."""

    def kill(*arguments: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    if os.environ["KILLED_WHILE"] == "writing":
        os.fsync = kill
    else:
        rows.add_tags = kill


def no_user(number: int) -> Any:
    raise KeyError(number)
