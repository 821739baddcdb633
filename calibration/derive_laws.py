"""Derives and proves the laws of catalogue models, and writes them into the package.

    python -m calibration.derive_laws [MODEL ...]

Models that have a law, or a reason why they have none, are skipped: remove the file or the reason to try again. Each
model has a process of its own, so that none keeps the memory of the one before.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from diffprof import catalogue
from diffprof.errors import DiffprofError
from diffprof.laws.law_file import ENDING, FOLDER, REASONS, reasons, write_law
from diffprof.record.atomic_files import replace_file

ONE = "--one"
LONGEST_REASON = 200


def main() -> None:
    if sys.argv[1:2] == [ONE]:
        derive(sys.argv[2])
        return
    names = sys.argv[1:] or [entry.name for entry in catalogue.entries()]
    for name in names:
        if (FOLDER / f"{name}{ENDING}").is_file() or name in reasons():
            continue
        begun = time.monotonic()
        subprocess.run([sys.executable, "-m", "calibration.derive_laws", ONE, name], check=False)
        print(name, reasons().get(name, "proved"), round(time.monotonic() - begun), "s", flush=True)  # noqa: T201


def derive(name: str) -> None:
    """Write the law of one model, or the reason why it has none."""
    from diffprof.counting.derivation.derive import derive_law

    FOLDER.mkdir(exist_ok=True)
    try:
        try:
            derived = derive_law(name, every_guidance=False)
        except DiffprofError:
            derived = derive_law(name, every_guidance=False, most_images=1)
    except DiffprofError as error:
        found = {**reasons(), name: str(error)[:LONGEST_REASON]}
        replace_file(REASONS, (json.dumps(found, indent=2, sort_keys=True) + "\n").encode())
        return
    write_law(derived.law, FOLDER / f"{name}{ENDING}")
    print(name, derived.proofs, "proofs", len(derived.law.programs), "programs", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
