"""``diffprof ...`` on two ranks of torchrun's own launcher."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from unittest import mock

import torch

from diffprof.cli import main

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def run_on_two_ranks(arguments: list[str], logs: Path) -> list[str]:
    """What each rank wrote to its standard output.

    As ``torchrun --standalone --nproc-per-node 2`` runs it, but the ranks are forked: to import everything takes
    longer than what they do.
    """
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    import diffprof.generation.generate  # noqa: F401  all that a run may need

    standalone = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=2, run_id="two", rdzv_backend="c10d", rdzv_endpoint="localhost:0",
        max_restarts=0, monitor_interval=0.1, start_method="fork",
        logs_specs=DefaultLogsSpecs(str(logs), redirects=Std.ALL),
    )  # fmt: skip
    handlers = [signal.getsignal(number) for number in SIGNALS]
    try:
        with mock.patch.dict(os.environ):
            elastic_launch(standalone, _run_rank)(arguments)
    except Exception as error:
        raise AssertionError("\n".join(path.read_text() for path in logs.rglob("stderr.log"))) from error
    finally:
        for number, handler in zip(SIGNALS, handlers, strict=True):
            signal.signal(number, handler)
    return [path.read_text() for path in sorted(logs.rglob("stdout.log"))]


def _run_rank(arguments: list[str]) -> None:
    torch.set_num_threads(1)  # the threads that the parent computed with are not there any more
    sys.argv = ["diffprof", *arguments]
    sys.exit(main())
