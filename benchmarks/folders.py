"""``python -m benchmarks.folders FOLDER``: profiles every model folder inside FOLDER; exits 1 if one crashes.

Each folder gets a process of its own, so that one that takes too long or too much memory ends alone.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NoReturn

import diffusers  # noqa: F401  here once, and not in each child
import torch
import transformers  # noqa: F401

import diffprof.counting.profile
import diffprof.pipelines.opening  # noqa: F401
from diffprof import cli

LARGEST_DATA_BYTES = 6 << 30
SECONDS_LIMIT = 600


class Outcome(Enum):
    """How profiling a folder ended."""

    counted = "counted"
    refused = "refused"
    crashed = "crashed"


@dataclass(frozen=True)
class Row:
    """What became of one folder."""

    folder: str
    outcome: Outcome
    detail: str
    peak_bytes: int

    def __str__(self) -> str:
        return f"| {self.folder} | {self.outcome.value} | {self.detail} | {self.peak_bytes / 2**20:.0f} MiB |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.folders", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder whose folders are models in diffusers layout")
    parser.add_argument("names", nargs="*", help="only these of them")
    parser.add_argument("--steps", type=int, default=2, help="denoising steps of each call")
    options = parser.parse_args()
    folders = [place for place in sorted(options.folder.iterdir()) if place.is_dir()]
    rows = []
    torch.set_num_threads(1)  # the threads of others do not live on in a child
    sys.stdout.write("| folder | outcome | what was printed | peak memory |\n|---|---|---|---|\n")
    for place in folders:
        if not options.names or place.name in options.names:
            rows.append(profile_folder(place, options.steps))
            sys.stdout.write(f"{rows[-1]}\n")
            sys.stdout.flush()
    totals = Counter(row.outcome for row in rows)
    words = ", ".join(f"{number} {outcome.value}" for outcome, number in totals.items())
    sys.stdout.write(f"\n{len(rows)} folders: {words}.\n")
    return 1 if totals[Outcome.crashed] else 0


def profile_folder(folder: Path, steps: int) -> Row:
    """Profile one folder in a process of its own; without the number of steps where its call has none."""
    row = _run(folder, ["--steps", str(steps)])
    if row.outcome is Outcome.refused and "has no call argument" in row.detail:
        return _run(folder, [])
    return row


def _run(folder: Path, options: list[str]) -> Row:
    command = ["diffprof", "profile", str(folder), "--json", "--quiet", "--no-cache", *options]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        # Forked: the libraries are imported once, not for each folder.
        child = os.fork()
        if child == 0:
            _profile_and_exit(command, output.fileno(), errors.fileno())
        _, status, usage = os.wait4(child, 0)
        output.seek(0)
        errors.seek(0)
        code = os.waitstatus_to_exitcode(status)
        outcome, detail = _outcome(code, output.read().decode(), errors.read().decode())
    return Row(folder.name, outcome, detail.replace(str(folder), "FOLDER").replace("|", "/"), usage.ru_maxrss * 1024)


def _profile_and_exit(command: list[str], output: int, errors: int) -> NoReturn:
    """The command line in this process, with bounded memory and time."""
    resource.setrlimit(resource.RLIMIT_DATA, (LARGEST_DATA_BYTES, LARGEST_DATA_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_LIMIT, SECONDS_LIMIT))
    os.dup2(output, sys.stdout.fileno())
    os.dup2(errors, sys.stderr.fileno())
    sys.argv = command
    code = 1
    try:
        code = cli.main()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _outcome(code: int, output: str, errors: str) -> tuple[Outcome, str]:
    lines = errors.strip().splitlines()
    if code == 0:
        profile = json.loads(output)
        total, ledger = profile["total"], profile["ledger"]
        unknown = f", unknown: {' '.join(ledger['unknown'])}" if ledger.get("unknown") else ""
        return Outcome.counted, f"{total['macs']:,} MACs, {total['parameters']:,} parameters{unknown}"
    one_sentence = len(lines) == 1 and lines[0].startswith("diffprof: error: ")
    if code in (1, 2) and one_sentence:
        return Outcome.refused, lines[0].removeprefix("diffprof: error: ")
    return Outcome.crashed, f"exit code {code}: {lines[-1] if lines else ''}"


if __name__ == "__main__":
    sys.exit(main())
