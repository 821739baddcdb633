"""Derives and proves the laws of catalogue models, and writes them into the package.

    python -m calibration.derive_laws [--usual-size | --sizes | --only-steps=50,100] [--frames=17,33] [MODEL ...]

Laws cover all sizes, several images and guidance on and off, as far as that is proved; with `--sizes` one image and the
default guidance, with `--usual-size` only the default size, which takes seconds. `--frames` are lengths of a video
beside the default one. With `--only-steps` a law has the default request and those with these numbers of steps, each as
it is counted: for pipelines whose schedulers do so much themselves that one count takes a minute.

Without names, models that have a law of the same reach, or a reason why they have none, are skipped. One process
derives a few models, so that libraries are imported once for them and none keeps the memory of many.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from diffprof import catalogue
from diffprof.errors import DiffprofError
from diffprof.laws.law_file import ENDING, FOLDER, REASONS, packaged_law, reasons, write_law
from diffprof.record.atomic_files import replace_file
from diffprof.record.request import Request

if TYPE_CHECKING:
    from diffprof.counting.derivation.derive import DerivedLaw

HERE, USUAL_SIZE, SIZES, FRAMES, ONLY_STEPS = "--here", "--usual-size", "--sizes", "--frames=", "--only-steps="
MODELS_OF_A_PROCESS = 4
LONGEST_REASON = 300


def main() -> None:
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    names = [argument for argument in sys.argv[1:] if argument not in options]
    if HERE in options:
        for name in names:
            derive(name, options)
        return
    wanted = names or [name for name in _all_models() if _is_wanted(name, options)]
    for place in range(0, len(wanted), MODELS_OF_A_PROCESS):
        part = wanted[place : place + MODELS_OF_A_PROCESS]
        subprocess.run([sys.executable, "-m", "calibration.derive_laws", HERE, *options, *part], check=False)


def _all_models() -> list[str]:
    return [entry.name for entry in catalogue.entries()]


def _is_wanted(name: str, options: Sequence[str]) -> bool:
    law = packaged_law(name)
    if law is None:
        return name not in reasons()
    if USUAL_SIZE in options:
        return False
    sides = [domain.ranges["height"] for domain in law.domains if "height" in domain.ranges]
    has_sizes = any(bounds.least < bounds.most for bounds in sides)
    return bool(sides) and not has_sizes if SIZES in options else len(law.domains) == 1


def derive(name: str, options: Sequence[str]) -> None:
    """Write the law of one model, or the reason why it has none."""
    begun = time.process_time()
    FOLDER.mkdir(exist_ok=True)
    try:
        derived = _derive(name, options)
    except (DiffprofError, RecursionError, MemoryError) as error:
        if not (FOLDER / f"{name}{ENDING}").is_file():
            _write_reason(name, str(error)[:LONGEST_REASON] or type(error).__name__)
        outcome = str(error)
    else:
        write_law(derived.law, FOLDER / f"{name}{ENDING}")
        _write_reason(name, None)
        outcome = f"{len(derived.law.programs)} programs, {derived.proofs} proofs {derived.law.proved_values()}"
        outcome += "".join(f"; not {reason}" for reason in derived.left_out)
    print(f"{name}: {time.process_time() - begun:.0f} s: {outcome}", flush=True)  # noqa: T201


def _derive(name: str, options: Sequence[str]) -> DerivedLaw:
    from diffprof.counting.derivation.derive import DerivedLaw, derive_law
    from diffprof.counting.derivation.ranges import Reach
    from diffprof.counting.derivation.recorded_requests import record_requests

    steps = _numbers(ONLY_STEPS, options)
    if steps:
        given: list[dict[str, int]] = [{}, *({"num_inference_steps": number} for number in steps)]
        law = record_requests(name, [Request.create(name, arguments) for arguments in given])
        return DerivedLaw(law, 0, ())
    reach = Reach.default_size if USUAL_SIZE in options else Reach.sizes if SIZES in options else Reach.everything
    return derive_law(name, reach=reach, frames=_numbers(FRAMES, options))


def _numbers(option: str, options: Sequence[str]) -> list[int]:
    """Those that are given with an option."""
    given = [one.removeprefix(option) for one in options if one.startswith(option)]
    return [int(number) for text in given for number in text.split(",")]


def _write_reason(name: str, reason: str | None) -> None:
    before = reasons()
    found = {other: words for other, words in before.items() if other != name}
    found |= {} if reason is None else {name: reason}
    if found != before:
        replace_file(REASONS, (json.dumps(found, indent=2, sort_keys=True) + "\n").encode())


if __name__ == "__main__":
    main()
