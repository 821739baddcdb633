"""Counts every model of the catalogue, and prints a table with pass or the reason.

python examples/every_model.py [WORD...]     only models with one of these words in their name
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import diffprof
from diffprof import catalogue


def main(words: Sequence[str] = ()) -> int:
    """Count one generation with each model; returns how many failed."""
    failed = 0
    for entry in catalogue.entries():
        if words and not any(word in entry.name for word in words):
            continue
        try:
            profile = diffprof.profile(entry.name)
            verdict = "pass" if profile.total.parameters == entry.parameters else "other parameters than published"
            cost = f"{profile.total.macs:,} MACs"
        except diffprof.DiffprofError as error:
            verdict, cost = str(error), ""
        failed += verdict != "pass"
        print(f"{entry.name:32} {cost:>30}  {verdict}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
