"""``diffprof run FOLDER ...`` on two ranks of torchrun's own launcher: run by test_rank_gathering.py.

They are forked when all is imported, which takes longer than what they do. The folder is made here for the same reason.
"""

from __future__ import annotations

import sys
from pathlib import Path

from torch.distributed.launcher.api import LaunchConfig, elastic_launch

import diffprof.generation.generate  # noqa: F401  all that a run may need
from diffprof.cli import main
from tests.pipelines.loadable import saved_with_weights


def run_rank(arguments: list[str]) -> None:
    sys.argv = ["diffprof", *arguments]
    sys.exit(main())


if __name__ == "__main__":
    saved_with_weights("flux", Path(sys.argv[2]))
    # As ``torchrun --standalone --nproc-per-node 2`` has it.
    standalone = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=2, run_id="two", rdzv_backend="c10d", rdzv_endpoint="localhost:0",
        max_restarts=0, monitor_interval=0.1, start_method="fork",
    )  # fmt: skip
    elastic_launch(standalone, run_rank)(sys.argv[1:])
