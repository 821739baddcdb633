"""``python -m tests.fuzz --cases 100000 --seed 1 --workers 2``"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz.campaign import Campaign, Summary


def main() -> int:
    """Run a campaign and print what was found; exit code 1 if there was anything."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case; with --cases 1 it is run again")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--subjects", default="", help="such as profile,trace; by default all")
    parser.add_argument("--few-folders", action="store_true", help="mutate few model folders, as the test suite does")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"), help="where the files of failures go")
    options = parser.parse_args()
    subjects = tuple(name for name in options.subjects.split(",") if name)
    campaign = Campaign(options.seed, options.first, options.cases, subjects, options.few_folders, options.failures)
    summary = campaign.run(options.workers, progress=_print)
    _print(summary.text)
    return 1 if summary.failures else 0


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


__all__ = ["Summary", "main"]

if __name__ == "__main__":
    sys.exit(main())
