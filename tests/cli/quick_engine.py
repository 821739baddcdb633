"""``python -m tests.cli.quick_engine ARGUMENTS``: the command line with an engine that counts nothing, and no torch."""

from __future__ import annotations

import os
import signal
import sys
from types import ModuleType
from typing import Any

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


module = ModuleType("diffprof.counting.profile")
module.profile_model = profile_model  # type: ignore[attr-defined]
sys.modules["diffprof.counting.profile"] = module


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


if __name__ == "__main__":
    if os.environ.get("KILLED_WHILE"):
        kill_while_writing()
    if os.environ.get("WITHOUT_HOME"):
        # As in a container that runs as a user whom no list has.
        import pwd

        pwd.getpwuid = no_user
    sys.exit(main())
